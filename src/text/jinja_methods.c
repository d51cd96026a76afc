/* SPDX-License-Identifier: MIT */
/* Job: methods of text, lists and dictionaries as Python has them.
 * Input: the value and arguments. Output: a value.
 * Threads: one per rendering. Bounds: linear in the text.
 * Those that change a list or a dictionary are refused, as Jinja2's immutable sandbox does. */
#include "text/jinja_methods.h"
#include "text/split_class.h"

static const char *const names[] = {"capitalize",
                                    "casefold",
                                    "center",
                                    "count",
                                    "endswith",
                                    "expandtabs",
                                    "find",
                                    "format",
                                    "index",
                                    "isalnum",
                                    "isalpha",
                                    "isascii",
                                    "isdecimal",
                                    "isdigit",
                                    "islower",
                                    "isnumeric",
                                    "isspace",
                                    "istitle",
                                    "isupper",
                                    "join",
                                    "ljust",
                                    "lower",
                                    "lstrip",
                                    "partition",
                                    "removeprefix",
                                    "removesuffix",
                                    "replace",
                                    "rfind",
                                    "rindex",
                                    "rjust",
                                    "rpartition",
                                    "rsplit",
                                    "rstrip",
                                    "split",
                                    "splitlines",
                                    "startswith",
                                    "strip",
                                    "swapcase",
                                    "title",
                                    "upper",
                                    "zfill",
                                    "format_map",
                                    "isidentifier",
                                    "isprintable",
                                    "encode",
                                    "maketrans",
                                    "translate",
                                    "",
                                    "get",
                                    "keys",
                                    "values",
                                    "items",
                                    "copy",
                                    "",
                                    "count",
                                    "index",
                                    "copy",
                                    "",
                                    "next",
                                    "reset",
                                    "",
                                    "bit_length",
                                    "bit_count",
                                    "as_integer_ratio",
                                    "to_bytes",
                                    "conjugate",
                                    "is_integer",
                                    "hex",
                                    ""};

static bool one_of(struct power_text name, const char *const *list, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (power_text_equal(name, power_text_of(list[i]))) return true;
    }
    return false;
}

static bool is_unsafe(struct jinja_value self, struct power_text name) {
    static const char *const all[] = {"__class__", "__doc__",  "__init__",         "__len__",
                                      "__dict__",  "__str__",  "__repr__",         "__iter__",
                                      "__eq__",    "__hash__", "__getitem__",      "__contains__",
                                      "__new__",   "__dir__",  "__getattribute__", "__reduce__"};
    static const char *const list[] = {"append", "clear", "pop",    "reverse",
                                       "insert", "sort",  "extend", "remove"};
    static const char *const dict[] = {"clear", "pop", "popitem", "setdefault", "update"};
    if (one_of(name, all, sizeof all / sizeof *all)) return true;
    if (self.type == JINJA_DICT) return one_of(name, dict, sizeof dict / sizeof *dict);
    return self.type == JINJA_LIST && self.as.list->kind == JINJA_PLAIN_LIST &&
           one_of(name, list, sizeof list / sizeof *list);
}

int power_jinja_method_find(struct jinja_value self, struct power_text name, bool *out_unsafe) {
    int from = M_END, to = M_END;
    *out_unsafe = is_unsafe(self, name);
    if (*out_unsafe) return -1;
    if (self.type == JINJA_TEXT) {
        from = 0;
        to = M_TEXT_END;
    } else if (self.type == JINJA_DICT) {
        from = M_GET;
        to = M_DICT_END;
    } else if (self.type == JINJA_LIST && self.as.list->kind <= JINJA_RANGE) {
        from = M_LIST_COUNT;
        to = self.as.list->kind == JINJA_PLAIN_LIST ? M_LIST_END : M_LIST_COPY;
    } else if (self.type == JINJA_OBJECT && self.as.object->kind == JINJA_CYCLER) {
        from = M_CYCLE_NEXT;
        to = M_CYCLE_END;
    } else if (power_jinja_is_number(self)) {
        from = self.type == JINJA_FLOAT ? M_AS_INTEGER_RATIO : M_BIT_LENGTH;
        to = self.type == JINJA_FLOAT ? M_END : M_IS_INTEGER;
    }
    for (int i = from; i < to; i++) {
        if (power_text_equal(name, power_text_of(names[i]))) return i;
    }
    return -1;
}

/* ---- arguments ---- */

static bool need_text(struct jinja_render *r, int id, struct jinja_value v) {
    if (v.type == JINJA_TEXT) return true;
    if (v.type == JINJA_UNDEFINED) return power_jinja_raise_undefined(r, v);
    return power_jinja_raise(r, POWER_INVALID, "%s() argument must be str, not %s", names[id],
                             power_jinja_type_name(v));
}

static bool int_or(struct jinja_render *r, int id, struct jinja_value v, int64_t fallback,
                   int64_t *out) {
    *out = fallback;
    if (v.type == JINJA_MISSING || v.type == JINJA_NONE) return true;
    if (power_jinja_is_whole(v)) {
        *out = power_jinja_whole_clamp(v);
        return true;
    }
    if (v.type == JINJA_UNDEFINED) return power_jinja_raise_undefined(r, v);
    return power_jinja_raise(r, POWER_INVALID, "%s() argument must be int, not %s", names[id],
                             power_jinja_type_name(v));
}

static struct jinja_value text_value(struct power_text text) {
    return power_jinja_borrow(text);
}

/* ---- stripping, prefixes ---- */

static bool strip(struct jinja_render *r, int id, struct power_text self,
                  const struct jinja_args *args, struct jinja_value *out) {
    struct jinja_value chars;
    if (!power_jinja_spread(r, names[id], "chars", 0, args, &chars)) return false;
    bool white = chars.type == JINJA_MISSING || chars.type == JINJA_NONE;
    if (!white && !need_text(r, id, chars)) return false;
    struct power_text set = white ? (struct power_text){0} : power_jinja_text(chars);
    int ends = id == M_LSTRIP ? 1 : id == M_RSTRIP ? 2 : 3;
    if (!white && !power_jinja_steps(r, self.length / 16 * (1 + set.length / 16))) return false;
    *out = text_value(power_jinja_strip(self, white ? NULL : &set, ends));
    return true;
}

static bool has_affix(struct power_text self, struct power_text affix, bool start) {
    if (affix.length > self.length) return false;
    size_t at = start ? 0 : self.length - affix.length;
    return affix.length == 0 || memcmp(self.bytes + at, affix.bytes, affix.length) == 0;
}

static bool remove_affix(struct jinja_render *r, int id, struct power_text self,
                         const struct jinja_args *args, struct jinja_value *out) {
    struct jinja_value affix;
    if (!power_jinja_spread(r, names[id], "affix", 1, args, &affix) || !need_text(r, id, affix))
        return false;
    bool start = id == M_REMOVEPREFIX;
    if (has_affix(self, power_jinja_text(affix), start)) {
        self.bytes += start ? affix.length : 0;
        self.length -= affix.length;
    }
    *out = text_value(self);
    return true;
}

/* The part of the text between two indices in code points, as slices count them. */
static bool part_of(struct jinja_render *r, int id, struct power_text self,
                    struct jinja_value start, struct jinja_value end, struct power_text *out,
                    size_t *out_offset, bool *out_inside) {
    int64_t from, to, count;
    *out = self;
    *out_offset = 0;
    *out_inside = true;
    if (start.type == JINJA_MISSING && end.type == JINJA_MISSING) return true;
    count = (int64_t)power_utf8_count(self);
    if (!int_or(r, id, start, 0, &from) || !int_or(r, id, end, count, &to)) return false;
    const bool beyond = from > count;
    from = from < 0 ? (from < -count ? 0 : from + count) : from > count ? count : from;
    to = to < 0 ? (to < -count ? 0 : to + count) : to > count ? count : to;
    /* nothing is found behind the end, not even the empty text */
    *out_inside = !beyond && to >= from;
    if (to < from) to = from;
    size_t a = power_jinja_offset(self, (size_t)from), b = power_jinja_offset(self, (size_t)to);
    *out = (struct power_text){self.bytes + a, b - a};
    *out_offset = (size_t)from;
    return true;
}

static bool affixed(struct jinja_render *r, int id, struct power_text self,
                    const struct jinja_args *args, struct jinja_value *out) {
    struct jinja_value given[3];
    size_t offset;
    bool inside;
    if (!power_jinja_spread(r, names[id], "affix,start,end", 1, args, given) ||
        !part_of(r, id, self, given[1], given[2], &self, &offset, &inside))
        return false;
    bool found = false,
         tuple = given[0].type == JINJA_LIST && given[0].as.list->kind == JINJA_TUPLE;
    size_t n = tuple ? given[0].as.list->count : 1;
    for (size_t i = 0; i < n && !found; i++) {
        struct jinja_value affix = tuple ? given[0].as.list->items[i] : given[0];
        if (!need_text(r, id, affix)) return false;
        found = inside && has_affix(self, power_jinja_text(affix), id == M_STARTSWITH);
    }
    *out = power_jinja_bool(found);
    return true;
}

/* ---- searching ---- */

static size_t find_last(struct power_text text, struct power_text what) {
    if (what.length > text.length) return SIZE_MAX;
    for (size_t at = text.length - what.length;; at--) {
        if (what.length == 0 || memcmp(text.bytes + at, what.bytes, what.length) == 0) return at;
        if (at == 0) return SIZE_MAX;
    }
}

static bool find(struct jinja_render *r, int id, struct power_text self,
                 const struct jinja_args *args, struct jinja_value *out) {
    struct jinja_value given[3];
    struct power_text part;
    size_t offset;
    bool inside;
    if (!power_jinja_spread(r, names[id], "sub,start,end", 1, args, given) ||
        !need_text(r, id, given[0]) ||
        !part_of(r, id, self, given[1], given[2], &part, &offset, &inside) ||
        !power_jinja_steps(r, part.length / 16))
        return false;
    struct power_text what = power_jinja_text(given[0]);
    bool last = id == M_RFIND || id == M_RINDEX;
    /* The search from the end compares at every place. */
    if (last && !power_jinja_steps(r, part.length / 16 * (what.length / 64))) return false;
    size_t at = last ? find_last(part, what) : power_jinja_find(part, what, 0);
    if (!inside) at = SIZE_MAX;
    if (at == SIZE_MAX && (id == M_INDEX || id == M_RINDEX))
        return power_jinja_raise(r, POWER_INVALID, "substring not found");
    *out = power_jinja_int(-1);
    if (at != SIZE_MAX)
        *out = power_jinja_int(
            (int64_t)(offset + power_utf8_count((struct power_text){part.bytes, at})));
    return true;
}

static bool count(struct jinja_render *r, int id, struct power_text self,
                  const struct jinja_args *args, struct jinja_value *out) {
    struct jinja_value given[3];
    size_t offset;
    bool inside;
    if (!power_jinja_spread(r, names[id], "sub,start,end", 1, args, given) ||
        !need_text(r, id, given[0]) ||
        !part_of(r, id, self, given[1], given[2], &self, &offset, &inside) ||
        !power_jinja_steps(r, self.length / 16))
        return false;
    struct power_text what = power_jinja_text(given[0]);
    int64_t n = what.length || !inside ? 0 : (int64_t)power_utf8_count(self) + 1;
    for (size_t at = 0; what.length && (at = power_jinja_find(self, what, at)) != SIZE_MAX;) {
        n++;
        at += what.length;
    }
    *out = power_jinja_int(n);
    return true;
}

static bool replace(struct jinja_render *r, int id, struct power_text self,
                    const struct jinja_args *args, struct jinja_value *out) {
    struct jinja_value given[3];
    int64_t times;
    if (!power_jinja_spread(r, names[id], "old,new,count", 2, args, given) ||
        !need_text(r, id, given[0]) || !need_text(r, id, given[1]) ||
        !int_or(r, id, given[2], -1, &times))
        return false;
    return power_jinja_replace(r, self, power_jinja_text(given[0]), power_jinja_text(given[1]),
                               times < 0 ? -1 : times, out);
}

/* ---- splitting ---- */

static bool push_text(struct jinja_render *r, struct jinja_list *list, struct power_text text) {
    return power_jinja_push(r, list, text_value(text));
}

static bool split_white(struct jinja_render *r, struct power_text self, int64_t times, bool right,
                        struct jinja_list *list) {
    while (true) {
        self = power_jinja_strip(self, NULL, right ? 2 : 1);
        if (self.length == 0) return true;
        if (times-- == 0) return push_text(r, list, self);
        size_t at = right ? self.length : 0, length;
        while (!right && at < self.length &&
               !power_jinja_is_space(power_utf8_get(self, at, &length, NULL)))
            at += length;
        while (right && at > 0) {
            size_t before = power_utf8_before(self, at);
            if (power_jinja_is_space(power_utf8_get(self, before, &length, NULL))) break;
            at = before;
        }
        struct power_text head = {self.bytes, at}, tail = {self.bytes + at, self.length - at};
        if (!power_jinja_steps(r, 1) || !push_text(r, list, right ? tail : head)) return false;
        self = right ? head : tail;
    }
}

static bool split_by(struct jinja_render *r, struct power_text self, struct power_text by,
                     int64_t times, bool right, struct jinja_list *list) {
    while (times-- != 0) {
        size_t at = right ? find_last(self, by) : power_jinja_find(self, by, 0);
        if (at == SIZE_MAX) break;
        struct power_text head = {self.bytes, at};
        struct power_text tail = {self.bytes + at + by.length, self.length - at - by.length};
        if (!power_jinja_steps(r, 1) || !push_text(r, list, right ? tail : head)) return false;
        self = right ? head : tail;
        if (times < -1) times = -1;
    }
    return push_text(r, list, self);
}

static void reverse(struct jinja_list *list) {
    for (size_t i = 0; i < list->count / 2; i++) {
        struct jinja_value swap = list->items[i];
        list->items[i] = list->items[list->count - 1 - i];
        list->items[list->count - 1 - i] = swap;
    }
}

static bool split(struct jinja_render *r, int id, struct power_text self,
                  const struct jinja_args *args, struct jinja_value *out) {
    struct jinja_value given[2];
    int64_t times;
    if (!power_jinja_spread(r, names[id], "sep,maxsplit", 0, args, given) ||
        !int_or(r, id, given[1], -1, &times) || !power_jinja_steps(r, self.length / 16))
        return false;
    struct jinja_list *list = power_jinja_list(r, JINJA_PLAIN_LIST, 0);
    bool right = id == M_RSPLIT, ok = list != NULL;
    if (times < 0) times = -1;
    if (ok && (given[0].type == JINJA_MISSING || given[0].type == JINJA_NONE)) {
        ok = split_white(r, self, times, right, list);
    } else if (ok) {
        if (!need_text(r, id, given[0])) return false;
        if (given[0].length == 0) return power_jinja_raise(r, POWER_INVALID, "empty separator");
        ok = split_by(r, self, power_jinja_text(given[0]), times, right, list);
    }
    if (!ok) return false;
    if (right) reverse(list);
    *out = power_jinja_of_list(list);
    return true;
}

static bool is_line_end(uint32_t code) {
    return (code >= 0x0A && code <= 0x0D) || (code >= 0x1C && code <= 0x1E) || code == 0x85 ||
           code == 0x2028 || code == 0x2029;
}

static bool splitlines(struct jinja_render *r, int id, struct power_text self,
                       const struct jinja_args *args, struct jinja_value *out) {
    struct jinja_value keep;
    struct jinja_list *list = power_jinja_list(r, JINJA_PLAIN_LIST, 0);
    if (!list || !power_jinja_spread(r, names[id], "keepends", 0, args, &keep)) return false;
    size_t start = 0, length;
    for (size_t at = 0; at < self.length; at += length) {
        uint32_t code = power_utf8_get(self, at, &length, NULL);
        if (!is_line_end(code)) continue;
        if (code == '\r' && at + 1 < self.length && self.bytes[at + 1] == '\n') length = 2;
        size_t end = keep.type != JINJA_MISSING && power_jinja_truth(keep) ? at + length : at;
        if (!power_jinja_steps(r, 1) ||
            !push_text(r, list, (struct power_text){self.bytes + start, end - start}))
            return false;
        start = at + length;
    }
    if (start < self.length &&
        !push_text(r, list, (struct power_text){self.bytes + start, self.length - start}))
        return false;
    *out = power_jinja_of_list(list);
    return true;
}

static bool partition(struct jinja_render *r, int id, struct power_text self,
                      const struct jinja_args *args, struct jinja_value *out) {
    struct jinja_value sep;
    if (!power_jinja_spread(r, names[id], "sep", 1, args, &sep) || !need_text(r, id, sep))
        return false;
    if (sep.length == 0) return power_jinja_raise(r, POWER_INVALID, "empty separator");
    bool last = id == M_RPARTITION;
    struct power_text by = power_jinja_text(sep), empty = {"", 0};
    size_t at = last ? find_last(self, by) : power_jinja_find(self, by, 0);
    struct jinja_list *list = power_jinja_list(r, JINJA_TUPLE, 3);
    if (!list) return false;
    struct power_text head =
        at == SIZE_MAX ? (last ? empty : self) : (struct power_text){self.bytes, at};
    struct power_text tail = at == SIZE_MAX ? (last ? self : empty)
                                            : (struct power_text){self.bytes + at + by.length,
                                                                  self.length - at - by.length};
    *out = power_jinja_of_list(list);
    return push_text(r, list, head) && push_text(r, list, at == SIZE_MAX ? empty : by) &&
           push_text(r, list, tail);
}

static bool join(struct jinja_render *r, int id, struct power_text self,
                 const struct jinja_args *args, struct jinja_value *out) {
    struct jinja_value items;
    struct jinja_list *list;
    struct jinja_buffer buffer;
    if (!power_jinja_spread(r, names[id], "iterable", 1, args, &items) ||
        !power_jinja_iterate(r, items, &list))
        return false;
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].type != JINJA_TEXT)
            return power_jinja_raise(r, POWER_INVALID,
                                     "sequence item %zu: expected str instance, %s found", i,
                                     power_jinja_type_name(list->items[i]));
    }
    power_jinja_scratch(r, &buffer);
    bool ok = true;
    for (size_t i = 0; ok && i < list->count; i++)
        ok = (i == 0 || power_jinja_put(r, &buffer, self)) &&
             power_jinja_put(r, &buffer, power_jinja_text(list->items[i]));
    return power_jinja_finish_text(r, &buffer, ok, out);
}

/* ---- padding ---- */

static bool put_fill(struct jinja_render *r, struct jinja_buffer *out, struct power_text fill,
                     int64_t n) {
    bool ok = true;
    for (int64_t i = 0; ok && i < n; i++)
        ok = power_jinja_put(r, out, fill);
    return ok;
}

static bool pad(struct jinja_render *r, int id, struct power_text self,
                const struct jinja_args *args, struct jinja_value *out) {
    struct jinja_value given[2];
    int64_t width;
    if (!power_jinja_spread(r, names[id], "width,fillchar", 1, args, given) ||
        !int_or(r, id, given[0], 0, &width))
        return false;
    struct power_text fill = id == M_ZFILL ? POWER_TEXT("0") : POWER_TEXT(" ");
    if (given[1].type != JINJA_MISSING) {
        if (!need_text(r, id, given[1])) return false;
        fill = power_jinja_text(given[1]);
        if (power_utf8_count(fill) != 1)
            return power_jinja_raise(r, POWER_INVALID,
                                     "the fill character must be exactly one character long");
    }
    int64_t spare = width - (int64_t)power_utf8_count(self);
    if (spare < 0) spare = 0;
    if (spare > (int64_t)r->max_output_bytes)
        return power_jinja_raise(r, POWER_LIMIT, "text is longer than %zu bytes",
                                 r->max_output_bytes);
    int64_t left = id == M_RJUST || id == M_ZFILL ? spare : 0;
    if (id == M_CENTER) left = spare / 2 + (spare & width & 1);
    struct jinja_buffer buffer;
    power_jinja_scratch(r, &buffer);
    bool sign = id == M_ZFILL && self.length && (self.bytes[0] == '-' || self.bytes[0] == '+');
    bool ok = power_jinja_steps(r, (uint64_t)spare / 16) &&
              (!sign || power_jinja_put(r, &buffer, (struct power_text){self.bytes, 1}));
    self.bytes += sign;
    self.length -= sign;
    ok = ok && put_fill(r, &buffer, fill, left) && power_jinja_put(r, &buffer, self) &&
         put_fill(r, &buffer, fill, spare - left);
    return power_jinja_finish_text(r, &buffer, ok, out);
}

static bool expandtabs(struct jinja_render *r, int id, struct power_text self,
                       const struct jinja_args *args, struct jinja_value *out) {
    struct jinja_value size;
    int64_t width, column = 0;
    struct jinja_buffer buffer;
    if (!power_jinja_spread(r, names[id], "tabsize", 0, args, &size) ||
        !int_or(r, id, size, 8, &width))
        return false;
    power_jinja_scratch(r, &buffer);
    bool ok = true;
    for (size_t at = 0, length; ok && at < self.length; at += length) {
        uint32_t code = power_utf8_get(self, at, &length, NULL);
        if (code == '\t') {
            int64_t n = width > 0 ? width - column % width : 0;
            ok = n < 100000 && put_fill(r, &buffer, POWER_TEXT(" "), n);
            column += n;
            continue;
        }
        ok = power_jinja_put(r, &buffer, (struct power_text){self.bytes + at, length});
        column = code == '\n' || code == '\r' ? 0 : column + 1;
    }
    return power_jinja_finish_text(r, &buffer, ok, out);
}

/* ---- case ---- */

static bool change_case(struct jinja_render *r, int id, struct power_text self,
                        const struct jinja_args *args, struct jinja_value *out) {
    enum jinja_case how = id == M_LOWER        ? CASE_LOWER
                          : id == M_UPPER      ? CASE_UPPER
                          : id == M_TITLE      ? CASE_TITLE
                          : id == M_CAPITALIZE ? CASE_CAPITALIZE
                          : id == M_SWAPCASE   ? CASE_SWAP
                                               : CASE_FOLD;
    if (args->count || args->n_keywords)
        return power_jinja_raise(r, POWER_INVALID, "%s() takes no arguments", names[id]);
    return power_jinja_case(r, self, how, out);
}

/* ---- lists and dictionaries ---- */

static bool dict_view(struct jinja_render *r, int id, const struct jinja_dict *dict,
                      struct jinja_value *out) {
    enum jinja_list_kind kind = id == M_KEYS     ? JINJA_KEYS
                                : id == M_VALUES ? JINJA_VALUES
                                                 : JINJA_ITEMS;
    struct jinja_list *list = power_jinja_list(r, kind, dict->count);
    if (!list || !power_jinja_steps(r, dict->count)) return false;
    for (size_t i = 0; i < dict->count; i++) {
        struct jinja_value v = id == M_KEYS ? dict->entries[i].key : dict->entries[i].value;
        if (id == M_ITEMS && !power_jinja_pair(r, dict->entries[i].key, dict->entries[i].value, &v))
            return false;
        if (!power_jinja_push(r, list, v)) return false;
    }
    *out = power_jinja_of_list(list);
    return true;
}

static bool dict_method(struct jinja_render *r, struct jinja_value self, int id,
                        const struct jinja_args *args, struct jinja_value *out) {
    struct jinja_value given[2];
    if (id == M_GET) {
        if (!power_jinja_spread(r, "get", "key,default", 1, args, given)) return false;
        if (!power_jinja_hashable(given[0]))
            return power_jinja_raise(r, POWER_INVALID, "unhashable type: '%s'",
                                     power_jinja_type_name(given[0]));
        const struct jinja_value *v = power_jinja_dict_get(self.as.dict, given[0]);
        *out = v ? *v : given[1].type == JINJA_MISSING ? power_jinja_none() : given[1];
        return true;
    }
    if (args->count || args->n_keywords)
        return power_jinja_raise(r, POWER_INVALID, "%s() takes no arguments", names[id]);
    if (id != M_COPY) return dict_view(r, id, self.as.dict, out);
    *out = self; /* nothing can change it */
    return true;
}

static bool list_method(struct jinja_render *r, struct jinja_value self, int id,
                        const struct jinja_args *args, struct jinja_value *out) {
    struct jinja_value what;
    const struct jinja_list *list = self.as.list;
    *out = self;
    if (id == M_LIST_COPY) return true;
    if (!power_jinja_spread(r, names[id], "value", 1, args, &what) ||
        !power_jinja_steps(r, list->count))
        return false;
    int64_t n = 0, first = -1;
    for (size_t i = 0; i < list->count; i++) {
        if (!power_jinja_equal(r, list->items[i], what)) continue;
        if (first < 0) first = (int64_t)i;
        n++;
    }
    if (id == M_LIST_INDEX && first < 0)
        return power_jinja_raise(r, POWER_INVALID, "value is not in list");
    *out = power_jinja_int(id == M_LIST_COUNT ? n : first);
    return true;
}

/* ---- all ---- */

static bool not_supported(struct jinja_render *r, int id) {
    return power_jinja_raise(r, POWER_UNSUPPORTED, "method \"%s\" is not supported", names[id]);
}

static bool format_map(struct jinja_render *r, struct jinja_value self,
                       const struct jinja_args *args, struct jinja_value *out) {
    struct jinja_value mapping;
    if (!power_jinja_spread(r, "format_map", "mapping,/", 1, args, &mapping)) return false;
    if (mapping.type != JINJA_DICT)
        return power_jinja_raise(r, POWER_INVALID, "format_map() takes a mapping, not %s",
                                 power_jinja_type_name(mapping));
    struct jinja_args none = {0};
    return power_jinja_str_format(r, self, &none, mapping.as.dict, out);
}

static bool text_method(struct jinja_render *r, int id, struct power_text self,
                        const struct jinja_args *args, struct jinja_value *out) {
    switch (id) {
    case M_STRIP:
    case M_LSTRIP:
    case M_RSTRIP:
        return strip(r, id, self, args, out);
    case M_REMOVEPREFIX:
    case M_REMOVESUFFIX:
        return remove_affix(r, id, self, args, out);
    case M_STARTSWITH:
    case M_ENDSWITH:
        return affixed(r, id, self, args, out);
    case M_FIND:
    case M_RFIND:
    case M_INDEX:
    case M_RINDEX:
        return find(r, id, self, args, out);
    case M_COUNT:
        return count(r, id, self, args, out);
    case M_REPLACE:
        return replace(r, id, self, args, out);
    case M_SPLIT:
    case M_RSPLIT:
        return split(r, id, self, args, out);
    case M_SPLITLINES:
        return splitlines(r, id, self, args, out);
    case M_PARTITION:
    case M_RPARTITION:
        return partition(r, id, self, args, out);
    case M_JOIN:
        return join(r, id, self, args, out);
    case M_CENTER:
    case M_LJUST:
    case M_RJUST:
    case M_ZFILL:
        return pad(r, id, self, args, out);
    case M_EXPANDTABS:
        return expandtabs(r, id, self, args, out);
    case M_FORMAT:
        return power_jinja_str_format(r, text_value(self), args, NULL, out);
    case M_FORMAT_MAP:
        return format_map(r, text_value(self), args, out);
    case M_ENCODE:
    case M_MAKETRANS:
    case M_TRANSLATE:
        return not_supported(r, id);
    case M_LOWER:
    case M_UPPER:
    case M_TITLE:
    case M_CAPITALIZE:
    case M_SWAPCASE:
    case M_CASEFOLD:
        return change_case(r, id, self, args, out);
    default:
        return power_jinja_predicate(r, id, names[id], self, args, out);
    }
}

/* Arguments of a Markup's methods are escaped, and so is what it joins. */
static bool escape_args(struct jinja_render *r, int id, struct jinja_args *args) {
    struct jinja_value *items = power_arena_alloc(&r->arena, args->count + 1, sizeof *items);
    if (!items) return power_jinja_no_memory(r);
    for (size_t i = 0; i < args->count; i++) {
        items[i] = args->items[i];
        if (items[i].type == JINJA_TEXT && !power_jinja_escape(r, items[i], &items[i]))
            return false;
        if (id != M_JOIN) continue;
        struct jinja_list *from, *to = power_jinja_list(r, JINJA_PLAIN_LIST, 0);
        if (!to || !power_jinja_iterate(r, items[i], &from)) return false;
        for (size_t k = 0; k < from->count; k++) {
            struct jinja_value v;
            if (!power_jinja_escape(r, from->items[k], &v) || !power_jinja_push(r, to, v))
                return false;
        }
        items[i] = power_jinja_of_list(to);
    }
    args->items = items;
    return true;
}

static bool markup_method(struct jinja_render *r, struct jinja_value self, int id,
                          const struct jinja_args *args, struct jinja_value *out) {
    struct jinja_args escaped = *args;
    bool looks = id == M_STARTSWITH || id == M_ENDSWITH || id == M_FIND || id == M_RFIND ||
                 id == M_INDEX || id == M_RINDEX || id == M_COUNT || id == M_SPLIT ||
                 id == M_RSPLIT || id == M_PARTITION || id == M_RPARTITION || id == M_SPLITLINES;
    if (id == M_FORMAT) return power_jinja_str_format(r, self, args, NULL, out);
    if (id == M_FORMAT_MAP) return format_map(r, self, args, out);
    if (!looks && !escape_args(r, id, &escaped)) return false;
    if (!text_method(r, id, power_jinja_text(self), &escaped, out)) return false;
    if (out->type == JINJA_TEXT) out->markup = true;
    for (size_t i = 0; out->type == JINJA_LIST && i < out->as.list->count; i++)
        out->as.list->items[i].markup = true;
    return true;
}

static bool cycle_method(struct jinja_object *cycler, int id, struct jinja_value *out) {
    *out = power_jinja_none();
    if (id == M_CYCLE_RESET) {
        cycler->at = 0;
        return true;
    }
    *out = cycler->list->items[cycler->at];
    cycler->at = (cycler->at + 1) % cycler->list->count;
    return true;
}

bool power_jinja_method(struct jinja_render *r, struct jinja_value self, int id,
                        const struct jinja_args *args, struct jinja_value *out) {
    if (self.type == JINJA_DICT) return dict_method(r, self, id, args, out);
    if (self.type == JINJA_LIST) return list_method(r, self, id, args, out);
    if (self.type == JINJA_OBJECT) return cycle_method(self.as.object, id, out);
    if (power_jinja_is_number(self)) {
        if (id == M_AS_INTEGER_RATIO || id == M_TO_BYTES || id == M_HEX)
            return not_supported(r, id);
        return power_jinja_number_method(r, self, names[id], args, out);
    }
    if (!power_jinja_walk_steps(r, self)) return false;
    if (self.markup) return markup_method(r, self, id, args, out);
    return text_method(r, id, power_jinja_text(self), args, out);
}
