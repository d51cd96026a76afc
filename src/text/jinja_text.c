/* SPDX-License-Identifier: MIT */
/* Job: text by code points: offsets, slices, case, stripping, searching.
 * Input: valid UTF-8. Output: text in the rendering's arena or borrowed from the input.
 * Threads: one per rendering. Bounds: linear in the text. */
#include <utf8proc.h>

#include "text/jinja.h"
#include "text/split_class.h"

size_t power_jinja_offset(struct power_text text, size_t code_points) {
    size_t at = 0;
    while (at < text.length) {
        if (((unsigned char)text.bytes[at] & 0xC0) != 0x80 && code_points-- == 0) break;
        at++;
    }
    return at;
}

bool power_jinja_is_space(uint32_t code) {
    if (code >= 0x1C && code <= 0x1F) return true; /* Python counts the separators */
    return (power_class_of(code) & POWER_CLASS_SPACE) != 0;
}

bool power_jinja_is_name_part(uint32_t code, bool first) {
    utf8proc_category_t c = utf8proc_category((utf8proc_int32_t)code);
    if (code == '_' || (c >= UTF8PROC_CATEGORY_LU && c <= UTF8PROC_CATEGORY_LO) ||
        c == UTF8PROC_CATEGORY_NL)
        return true;
    return !first && (c == UTF8PROC_CATEGORY_MN || c == UTF8PROC_CATEGORY_MC ||
                      c == UTF8PROC_CATEGORY_ND || c == UTF8PROC_CATEGORY_PC || code == 0xB7);
}

/* ---- slices ---- */

static bool slice_bound(struct jinja_render *r, struct jinja_value v, int64_t fallback,
                        int64_t count, int64_t low, int64_t high, int64_t *out) {
    *out = fallback;
    if (v.type == JINJA_NONE) return true;
    if (power_jinja_is_whole(v))
        *out = power_jinja_whole_clamp(v);
    else
        return power_jinja_raise(r, POWER_INVALID,
                                 "slice indices must be integers or None, not '%s'",
                                 power_jinja_type_name(v));
    if (*out < 0) *out += *out < -count - 1 ? 0 : count;
    if (*out < low) *out = low;
    if (*out > high) *out = high;
    return true;
}

static bool slice_text(struct jinja_render *r, struct jinja_value v, int64_t start, int64_t stop,
                       int64_t step, struct jinja_value *out) {
    struct power_text text = power_jinja_text(v);
    if (step == 1) {
        size_t from = power_jinja_offset(text, (size_t)start);
        size_t to = stop > start ? power_jinja_offset(text, (size_t)stop) : from;
        *out = power_jinja_borrow((struct power_text){text.bytes + from, to - from});
        out->markup = v.markup;
        return true;
    }
    struct jinja_list *list;
    struct jinja_buffer buffer;
    if (!power_jinja_iterate(r, v, &list)) return false;
    power_jinja_scratch(r, &buffer);
    bool ok = true;
    for (int64_t i = start; ok && (step > 0 ? i < stop : i > stop); i += step)
        ok = power_jinja_put(r, &buffer, power_jinja_text(list->items[i]));
    return power_jinja_finish_text(r, &buffer, ok, out);
}

bool power_jinja_slice(struct jinja_render *r, struct jinja_value v, struct jinja_value start,
                       struct jinja_value stop, struct jinja_value step, struct jinja_value *out) {
    int64_t count, from, to, by = 1;
    if (v.type == JINJA_TEXT)
        count = (int64_t)power_utf8_count(power_jinja_text(v));
    else if (v.type == JINJA_LIST && v.as.list->kind <= JINJA_RANGE)
        count = (int64_t)v.as.list->count;
    else
        return power_jinja_raise(r, POWER_INVALID, "'%s' object can't be sliced",
                                 power_jinja_type_name(v));
    if (power_jinja_is_whole(step))
        by = power_jinja_whole_clamp(step);
    else if (step.type != JINJA_NONE)
        return power_jinja_raise(r, POWER_INVALID, "slice indices must be integers or None");
    if (by == 0) return power_jinja_raise(r, POWER_INVALID, "slice step cannot be zero");
    if (by > count + 1) by = count + 1;
    if (by < -count - 1) by = -count - 1;
    int64_t low = by < 0 ? -1 : 0, high = by < 0 ? count - 1 : count;
    if (!slice_bound(r, start, by < 0 ? high : low, count, low, high, &from) ||
        !slice_bound(r, stop, by < 0 ? low : high, count, low, high, &to))
        return false;
    if (v.type == JINJA_TEXT) return slice_text(r, v, from, to, by, out);
    const struct jinja_list *list = v.as.list;
    struct jinja_list *copy = power_jinja_list(r, list->kind, 0);
    if (copy && list->kind == JINJA_RANGE) {
        copy->bounds[0] = list->bounds[0] + from * list->bounds[2];
        copy->bounds[1] = list->bounds[0] + to * list->bounds[2];
        copy->bounds[2] = list->bounds[2] * by;
    }
    for (int64_t i = from; copy && (by > 0 ? i < to : i > to); i += by) {
        if (!power_jinja_steps(r, 1) || !power_jinja_push(r, copy, list->items[i])) return false;
    }
    if (!copy) return false;
    *out = power_jinja_of_list(copy);
    return true;
}

/* ---- case ---- */

/* 0: neither, 1: lower, 2: upper, 3: title */
static int case_of(uint32_t code) {
    utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)code);
    if (category == UTF8PROC_CATEGORY_LL) return 1;
    if (category == UTF8PROC_CATEGORY_LU) return 2;
    if (category == UTF8PROC_CATEGORY_LT) return 3;
    /* also signs that have the other case, such as U+2177 */
    return utf8proc_islower((utf8proc_int32_t)code)   ? 1
           : utf8proc_isupper((utf8proc_int32_t)code) ? 2
                                                      : 0;
}

/* Marks that stand in a word without being letters of it (Case_Ignorable). */
static bool ignorable(uint32_t code) {
    static const uint16_t signs[] = {'\'',   '.',    ':',    0xB7,   0x387,  0x55F,
                                     0x5F4,  0x2018, 0x2019, 0x2024, 0x2027, 0xFE13,
                                     0xFE52, 0xFE55, 0xFF07, 0xFF0E, 0xFF1A};
    utf8proc_category_t c = utf8proc_category((utf8proc_int32_t)code);
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        if (code == signs[i]) return true;
    }
    return c == UTF8PROC_CATEGORY_MN || c == UTF8PROC_CATEGORY_ME || c == UTF8PROC_CATEGORY_CF ||
           c == UTF8PROC_CATEGORY_LM || c == UTF8PROC_CATEGORY_SK;
}

static bool cased_letter(uint32_t code) {
    return case_of(code) != 0;
}

/* Simple case folding of one character to one. */
static utf8proc_int32_t fold_one(utf8proc_int32_t code) {
    utf8proc_int32_t folded[4];
    utf8proc_ssize_t n = utf8proc_decompose_char(code, folded, 4, UTF8PROC_CASEFOLD, NULL);
    return n == 1 ? folded[0] : utf8proc_tolower(code);
}

/* A capital sigma ends a word: letters before it and none behind, ignorable marks aside. */
static bool final_sigma(struct power_text text, size_t at) {
    size_t length, before = at;
    bool letter = false;
    while (before > 0 && !letter) {
        before = power_utf8_before(text, before);
        uint32_t code = power_utf8_get(text, before, &length, NULL);
        if (ignorable(code)) continue;
        letter = cased_letter(code);
        if (!letter) return false;
    }
    (void)power_utf8_get(text, at, &length, NULL);
    for (at += length; letter && at < text.length; at += length) {
        uint32_t code = power_utf8_get(text, at, &length, NULL);
        if (!ignorable(code)) return !cased_letter(code);
    }
    return letter;
}

static bool put_case(struct jinja_render *r, struct jinja_buffer *out, struct power_text text,
                     size_t at, size_t length, enum jinja_case how) {
    const struct power_text from = {text.bytes + at, length};
    uint32_t code = power_utf8_get(text, at, &length, NULL);
    utf8proc_int32_t c = (utf8proc_int32_t)code;
    const uint16_t *special = power_jinja_special_case(code, how);
    char bytes[12];
    size_t n = 0;
    for (size_t i = 0; special && i < 3 && special[i]; i++)
        n += power_utf8_put(special[i], bytes + n);
    if (!special) {
        if (how == CASE_UPPER)
            c = utf8proc_toupper(c);
        else if (how == CASE_TITLE)
            c = utf8proc_totitle(c);
        else if (how == CASE_FOLD)
            c = fold_one(c);
        else
            c = code == 0x3A3 && final_sigma(text, at) ? 0x3C2 : utf8proc_tolower(c);
        n = power_utf8_put((uint32_t)c, bytes);
    }
    return power_jinja_put_like(r, out, (struct power_text){bytes, n}, from);
}

bool power_jinja_case(struct jinja_render *r, struct power_text text, enum jinja_case how,
                      struct jinja_value *out) {
    struct jinja_buffer buffer;
    power_jinja_scratch(r, &buffer);
    bool ok = power_jinja_steps(r, text.length / 8);
    bool inside = false; /* inside a word, for title; behind the first, for capitalize */
    for (size_t at = 0, length; ok && at < text.length; at += length) {
        uint32_t code = power_utf8_get(text, at, &length, NULL);
        int kind = case_of(code);
        bool upper = how == CASE_UPPER || (how == CASE_SWAP && kind == 1) ||
                     ((how == CASE_TITLE || how == CASE_CAPITALIZE) && !inside);
        bool keep = how == CASE_SWAP && kind != 1 && kind != 2;
        enum jinja_case one = how == CASE_FOLD ? CASE_FOLD : CASE_LOWER;
        if (upper) one = how == CASE_TITLE || how == CASE_CAPITALIZE ? CASE_TITLE : CASE_UPPER;
        if (keep)
            ok = power_jinja_put(r, &buffer, (struct power_text){text.bytes + at, length});
        else
            ok = put_case(r, &buffer, text, at, length, one);
        inside = how == CASE_CAPITALIZE || kind != 0;
    }
    return power_jinja_finish_text(r, &buffer, ok, out);
}

/* ---- stripping and searching ---- */

static bool in_set(struct power_text set, uint32_t code) {
    for (size_t at = 0, length; at < set.length; at += length) {
        if (power_utf8_get(set, at, &length, NULL) == code) return true;
    }
    return false;
}

static bool strips(const struct power_text *chars, uint32_t code) {
    return chars ? in_set(*chars, code) : power_jinja_is_space(code);
}

struct power_text power_jinja_strip(struct power_text text, const struct power_text *chars,
                                    int ends) {
    size_t from = 0, to = text.length, length;
    while ((ends & 1) && from < to && strips(chars, power_utf8_get(text, from, &length, NULL)))
        from += length;
    while ((ends & 2) && to > from) {
        size_t at = power_utf8_before(text, to);
        if (!strips(chars, power_utf8_get(text, at, &length, NULL))) break;
        to = at;
    }
    return (struct power_text){text.bytes + from, to - from};
}

size_t power_jinja_find(struct power_text text, struct power_text what, size_t from) {
    if (what.length == 0) return from <= text.length ? from : SIZE_MAX;
    if (from > text.length || what.length > text.length - from) return SIZE_MAX;
    const char *found = memmem(text.bytes + from, text.length - from, what.bytes, what.length);
    return found ? (size_t)(found - text.bytes) : SIZE_MAX;
}

/* An empty `from` stands between all characters. */
static bool put_between(struct jinja_render *r, struct jinja_buffer *out, struct power_text text,
                        struct power_text to, int64_t count) {
    bool ok = true;
    for (size_t at = 0, length; ok; at += length) {
        if (count != 0) ok = power_jinja_put(r, out, to);
        if (count > 0) count--;
        if (at >= text.length) break;
        (void)power_utf8_get(text, at, &length, NULL);
        ok = ok && power_jinja_put(r, out, (struct power_text){text.bytes + at, length});
    }
    return ok;
}

bool power_jinja_replace(struct jinja_render *r, struct power_text text, struct power_text from,
                         struct power_text to, int64_t count, struct jinja_value *out) {
    struct jinja_buffer buffer;
    power_jinja_scratch(r, &buffer);
    bool ok = power_jinja_steps(r, text.length / 16);
    size_t at = 0;
    if (count < 0) count = -1;
    if (from.length == 0) {
        ok = ok && put_between(r, &buffer, text, to, count);
        at = text.length;
    }
    for (; ok && from.length && count != 0; count -= count > 0) {
        size_t found = power_jinja_find(text, from, at);
        if (found == SIZE_MAX) break;
        ok = power_jinja_put(r, &buffer, (struct power_text){text.bytes + at, found - at}) &&
             power_jinja_put(r, &buffer, to) && power_jinja_steps(r, 1);
        at = found + from.length;
    }
    ok = ok && power_jinja_put(r, &buffer, (struct power_text){text.bytes + at, text.length - at});
    return power_jinja_finish_text(r, &buffer, ok, out);
}
