/* SPDX-License-Identifier: MIT */
/* Members of a JSON object: which key may come, never one twice, never one that leaves no way on.
 * Input: locals of objects and bytes. Output: the locals that follow. Threads: one.
 * Bounds: a payload has a bit a named key and two words a key of a class; steps search sorted keys.
 *
 * What holds of every payload that is made, and why an object can always be finished: the required
 * keys still to come fit under the maximum (room()), and the keys that are still free reach the
 * minimum. A key is begun only when some free key begins so: for named keys that is looked up, for
 * classes the texts of the automaton from here are counted and those already used taken off. */
#include "text/constraint/state.h"

/* Words of a payload. */
enum {
    WORD_COUNT,   /* members so far; no more than `min` where there is no maximum */
    WORD_NEXT,    /* declared order: keys declared before this one are behind */
    WORD_MISSING, /* any order: required keys still to come */
    WORD_USED,    /* keys of classes: so many (class, text) pairs follow, sorted */
    WORDS
};
/* Texts: 0 is one that was not kept (mask walks), 1 is empty; else {text before, byte | length <<
 * 8}.
 */
enum { TEXT_LOST = 0, TEXT_EMPTY = 1 };

struct view {
    const struct power_object *object;
    const uint32_t *words;
    const uint32_t *used; /* pairs */
    const uint32_t *bits; /* any order: keys behind, by their place in the sorted keys */
    uint32_t n_words, n_used, payload;
};

static struct view view_of(const struct power_matcher *m, const struct power_local *l) {
    const struct power_interned *entry = &m->payloads.entries[l->payload];
    struct view v = {.object = &m->grammar->objects[l->ref],
                     .words = entry->words,
                     .used = entry->words + WORDS,
                     .n_words = entry->n,
                     .n_used = entry->words[WORD_USED],
                     .payload = l->payload};
    v.bits = v.used + 2 * (size_t)v.n_used;
    return v;
}

static uint32_t bit_words(const struct power_object *o) {
    return o->any_order ? (o->n_keys + 31) / 32 : 0;
}

/* ---- what may come ---- */

static uint32_t missing(const struct view *v) {
    return v->object->any_order ? v->words[WORD_MISSING]
                                : v->object->required_from[v->words[WORD_NEXT]];
}

/* Room for a key that is not required. */
static bool room(const struct view *v) {
    return v->object->max == UINT32_MAX || v->words[WORD_COUNT] + missing(v) < v->object->max;
}

static uint64_t class_left(const struct power_matcher *m, const struct view *v, uint32_t class) {
    uint64_t n = m->grammar->regulars[v->object->classes[class].regular].counts[0];
    for (uint32_t i = 0; i < v->n_used && n != UINT64_MAX; i++)
        n -= v->used[2 * i] == class;
    return n;
}

static bool reaches_min(const struct power_matcher *m, const struct view *v, uint64_t named) {
    uint64_t n = v->words[WORD_COUNT] + named;
    for (uint32_t c = 0; c < v->object->n_classes && n < v->object->min; c++) {
        uint64_t left = class_left(m, v, c);
        n = left > UINT64_MAX - n ? UINT64_MAX : n + left;
    }
    return n >= v->object->min;
}

/* `key` is an index into the sorted keys. In any order the minimum needs no look: every member
 * takes one key and adds one to the count. */
static bool key_free(const struct power_matcher *m, const struct view *v, uint32_t key) {
    const struct power_object *o = v->object;
    if (o->any_order) {
        if (v->bits[key / 32] >> (key % 32) & 1) return false;
        return o->keys[key].required || room(v);
    }
    uint32_t order = o->keys[key].order, next = v->words[WORD_NEXT];
    if (order < next || o->required_from[next] != o->required_from[order]) return false;
    if (!o->keys[key].required && !room(v)) return false;
    return reaches_min(m, v, o->n_keys - order);
}

static bool any_key_free(const struct power_matcher *m, const struct view *v, uint32_t low,
                         uint32_t high) {
    for (uint32_t key = low; key < high; key++) {
        if (v->object->any_order && key % 32 == 0 && key + 32 <= high &&
            v->bits[key / 32] == UINT32_MAX) {
            key += 31;
        } else if (key_free(m, v, key)) {
            return true;
        }
    }
    return false;
}

/* In declared order the free keys are found from the next one on. */
static bool any_named_free(const struct power_matcher *m, const struct view *v) {
    const struct power_object *o = v->object;
    if (o->any_order) return any_key_free(m, v, 0, o->n_keys);
    for (uint32_t order = v->words[WORD_NEXT]; order < o->n_keys; order++) {
        if (key_free(m, v, o->sorted_of[order])) return true;
        if (o->keys[o->sorted_of[order]].required) return false;
    }
    return false;
}

static bool class_free(const struct power_matcher *m, const struct view *v, uint32_t class) {
    const struct power_object *o = v->object;
    if (!o->any_order && (missing(v) || !reaches_min(m, v, 0))) return false;
    return room(v) && class_left(m, v, class) > 0;
}

static bool any_class_free(const struct power_matcher *m, const struct view *v) {
    for (uint32_t c = 0; c < v->object->n_classes; c++) {
        if (class_free(m, v, c)) return true;
    }
    return false;
}

static bool may_close(const struct view *v) {
    return missing(v) == 0 && v->words[WORD_COUNT] >= v->object->min;
}

static bool has_lost(const struct view *v) {
    for (uint32_t i = 0; i < v->n_used; i++) {
        if (v->used[2 * i + 1] == TEXT_LOST) return true;
    }
    return false;
}

/* ---- payloads ---- */

static bool reserve(struct power_matcher *m, uint32_t n) {
    while (m->words_room < n && m->status == POWER_OK) {
        m->words = power_states_room(m, m->words, &m->words_room, m->words_room, sizeof *m->words);
    }
    return m->status == POWER_OK;
}

uint32_t power_object_start(struct power_matcher *m, uint32_t object) {
    const struct power_object *o = &m->grammar->objects[object];
    uint32_t n = WORDS + bit_words(o);
    if (!reserve(m, n)) return 0;
    memset(m->words, 0, n * sizeof *m->words);
    if (o->any_order) m->words[WORD_MISSING] = o->required_from[0];
    uint32_t payload = power_states_intern(m, &m->payloads, m->words, n, true);
    return power_local_make(
        m, (struct power_local){.kind = POWER_LOCAL_OPEN, .ref = object, .payload = payload});
}

static void count_member(struct power_matcher *m, const struct power_object *o) {
    if (o->max != UINT32_MAX || m->words[WORD_COUNT] < o->min) m->words[WORD_COUNT]++;
}

static uint32_t payload_with_key(struct power_matcher *m, const struct view *v, uint32_t key) {
    const struct power_object *o = v->object;
    if (!reserve(m, v->n_words)) return 0;
    memcpy(m->words, v->words, v->n_words * sizeof *m->words);
    count_member(m, o);
    if (o->any_order) {
        m->words[WORDS + 2 * v->n_used + key / 32] |= 1u << (key % 32);
        m->words[WORD_MISSING] -= o->keys[key].required;
    } else {
        m->words[WORD_NEXT] = o->keys[key].order + 1;
    }
    return power_states_intern(m, &m->payloads, m->words, v->n_words, true);
}

static uint32_t payload_with_text(struct power_matcher *m, const struct view *v, uint32_t class,
                                  uint32_t text) {
    const struct power_object *o = v->object;
    uint32_t at = 0;
    if (!reserve(m, v->n_words + 2)) return 0;
    while (at < v->n_used &&
           (v->used[2 * at] < class || (v->used[2 * at] == class && v->used[2 * at + 1] < text)))
        at++;
    uint32_t before = WORDS + 2 * at;
    memcpy(m->words, v->words, before * sizeof *m->words);
    m->words[before] = class;
    m->words[before + 1] = text;
    memcpy(m->words + before + 2, v->words + before, (v->n_words - before) * sizeof *m->words);
    m->words[WORD_USED]++;
    count_member(m, o);
    if (!o->any_order) m->words[WORD_NEXT] = o->n_keys;
    return power_states_intern(m, &m->payloads, m->words, v->n_words + 2, true);
}

/* ---- texts of keys ---- */

static uint32_t text_length(const struct power_matcher *m, uint32_t text) {
    return text <= TEXT_EMPTY ? 0 : m->texts.entries[text].words[1] >> 8;
}

static uint32_t text_with(struct power_matcher *m, uint32_t text, unsigned char byte) {
    uint32_t length = text_length(m, text) + 1;
    if (text == TEXT_LOST) return TEXT_LOST;
    if (length >= 1u << 24) {
        power_states_fail(m, POWER_LIMIT, "a key is longer than %u bytes", (1u << 24) - 1);
        return TEXT_LOST;
    }
    const uint32_t words[2] = {text, length << 8 | byte};
    uint32_t found = power_states_intern(m, &m->texts, words, 2, m->exact);
    return found == UINT32_MAX ? TEXT_LOST : found;
}

/* Keys of the class already used that begin with `text`. */
static uint64_t used_behind(const struct power_matcher *m, const struct view *v, uint32_t class,
                            uint32_t text) {
    uint32_t length = text_length(m, text);
    uint64_t n = 0;
    for (uint32_t i = 0; i < v->n_used; i++) {
        uint32_t other = v->used[2 * i + 1];
        if (v->used[2 * i] != class || text == TEXT_LOST) continue;
        while (text_length(m, other) > length)
            other = m->texts.entries[other].words[0];
        n += other == text;
    }
    return n;
}

static bool is_used(const struct view *v, uint32_t class, uint32_t text) {
    for (uint32_t i = 0; i < v->n_used && text != TEXT_LOST; i++) {
        if (v->used[2 * i] == class && v->used[2 * i + 1] == text) return true;
    }
    return false;
}

/* ---- opening ---- */

static struct power_local local_of(const struct power_local *from, enum power_local_kind kind,
                                   uint32_t payload) {
    return (struct power_local){.kind = kind, .ref = from->ref, .payload = payload};
}

static void open_after(struct power_matcher *m, const struct power_local *l, uint32_t frame) {
    struct view v = view_of(m, l);
    if (may_close(&v)) power_advance_end(m, frame);
    if (!any_named_free(m, &v) && !any_class_free(m, &v)) return;
    uint32_t key = power_local_make(m, local_of(l, POWER_LOCAL_KEY, l->payload));
    const struct power_callable *comma = &m->grammar->callables[v.object->comma];
    power_advance_call(m, v.object->comma, key, frame);
    if (comma->nullable) power_advance_visit(m, key, frame);
}

static void open_call(struct power_matcher *m, const struct power_local *l, uint32_t frame) {
    const struct power_object *o = &m->grammar->objects[l->ref];
    bool colon = l->kind == POWER_LOCAL_COLON;
    struct power_local next =
        local_of(l, colon ? POWER_LOCAL_VALUE : POWER_LOCAL_AFTER, l->payload);
    if (colon) next.a = l->a;
    uint32_t callable = colon ? o->colon : l->a, back = power_local_make(m, next);
    power_advance_call(m, callable, back, frame);
    if (m->grammar->callables[callable].nullable) power_advance_visit(m, back, frame);
}

void power_object_open(struct power_matcher *m, uint32_t local, uint32_t frame) {
    struct power_local l = *power_local_of(m, local);
    if (l.kind == POWER_LOCAL_AFTER) {
        open_after(m, &l, frame);
    } else if (l.kind == POWER_LOCAL_COLON || l.kind == POWER_LOCAL_VALUE) {
        open_call(m, &l, frame);
    } else {
        if (l.kind == POWER_LOCAL_OPEN) {
            struct view v = view_of(m, &l);
            if (may_close(&v)) power_advance_end(m, frame);
            if (!any_named_free(m, &v) && !any_class_free(m, &v)) return;
        }
        if (l.kind == POWER_LOCAL_CLASS) m->flags |= POWER_STATE_CLASS;
        power_advance_item(m, local, frame);
    }
}

/* ---- one byte ---- */

/* A key begins with its quote. A class cannot be begun while a used key is not known. */
static void step_key(struct power_matcher *m, const struct power_local *l, uint32_t frame) {
    struct view v = view_of(m, l);
    if (any_named_free(m, &v)) {
        struct power_local named = local_of(l, POWER_LOCAL_NAMED, l->payload);
        named.b = v.object->n_keys;
        named.c = 1;
        power_advance_visit(m, power_local_make(m, named), frame);
    }
    for (uint32_t c = 0; c < v.object->n_classes; c++) {
        if (!class_free(m, &v, c)) continue;
        if (has_lost(&v)) {
            m->flags |= POWER_STATE_UNSURE;
            continue;
        }
        struct power_local class = local_of(l, POWER_LOCAL_CLASS, l->payload);
        class.c = TEXT_EMPTY;
        class.d = c;
        power_advance_visit(m, power_local_make(m, class), frame);
    }
}

/* The keys among low .. high whose byte at `depth` is `byte`; each has one there. */
static void narrow(const struct power_object *o, struct power_local *l, unsigned char byte) {
    uint32_t low = l->a, high = l->b;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if ((unsigned char)o->keys[middle].key.bytes[l->c] < byte) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    l->a = low;
    high = l->b;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if ((unsigned char)o->keys[middle].key.bytes[l->c] <= byte) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    l->b = low;
    l->c++;
}

static void begin_value(struct power_matcher *m, const struct power_local *l, uint32_t payload,
                        uint32_t value, uint32_t frame) {
    struct power_local colon = local_of(l, POWER_LOCAL_COLON, payload);
    colon.a = value;
    power_advance_visit(m, power_local_make(m, colon), frame);
}

static void step_named(struct power_matcher *m, struct power_local l, uint32_t frame,
                       unsigned char byte) {
    struct view v = view_of(m, &l);
    narrow(v.object, &l, byte);
    if (l.a == l.b || !any_key_free(m, &v, l.a, l.b)) return;
    if (v.object->keys[l.a].key.length > l.c) {
        power_advance_visit(m, power_local_make(m, l), frame);
        return;
    }
    begin_value(m, &l, payload_with_key(m, &v, l.a), v.object->keys[l.a].value, frame);
}

static void step_class(struct power_matcher *m, struct power_local l, uint32_t frame,
                       unsigned char byte) {
    struct view v = view_of(m, &l);
    const struct power_object_class *class = &v.object->classes[l.d];
    const struct power_program_regular *r = &m->grammar->regulars[class->regular];
    struct power_cursor cursor = {l.a, l.b};
    if (byte == '"' && l.b == POWER_SPELL_START) {
        if (!r->language.states[l.a].accepts || is_used(&v, l.d, l.c)) return;
        begin_value(m, &l, payload_with_text(m, &v, l.d, l.c), class->value, frame);
        return;
    }
    if (!power_cursor_step(r, &cursor, byte)) return;
    l.c = text_with(m, l.c, byte);
    l.a = cursor.state;
    l.b = cursor.spelling;
    uint64_t used = used_behind(m, &v, l.d, l.c);
    if (used && power_cursor_count(r, cursor) <= used) return;
    power_advance_visit(m, power_local_make(m, l), frame);
}

void power_object_step(struct power_matcher *m, uint32_t local, uint32_t frame,
                       unsigned char byte) {
    struct power_local l = *power_local_of(m, local);
    if (l.kind == POWER_LOCAL_NAMED) {
        step_named(m, l, frame, byte);
    } else if (l.kind == POWER_LOCAL_CLASS) {
        step_class(m, l, frame, byte);
    } else if (byte == '"') {
        step_key(m, &l, frame);
    }
}

void power_object_maybe(const struct power_matcher *m, uint32_t local, uint64_t set[4]) {
    const struct power_local *l = power_local_of(m, local);
    if (l->kind == POWER_LOCAL_NAMED) {
        const struct power_object *o = &m->grammar->objects[l->ref];
        struct power_local at = *l;
        while (at.a < l->b) {
            unsigned char byte = (unsigned char)o->keys[at.a].key.bytes[l->c];
            set[byte >> 6] |= UINT64_C(1) << (byte & 63);
            at.b = l->b;
            at.c = l->c;
            narrow(o, &at, byte);
            at.a = at.b;
        }
        return;
    }
    set[0] |= UINT64_C(1) << '"';
    if (l->kind == POWER_LOCAL_CLASS) {
        const struct power_object *o = &m->grammar->objects[l->ref];
        const struct power_program_regular *r = &m->grammar->regulars[o->classes[l->d].regular];
        power_cursor_maybe(r, (struct power_cursor){l->a, l->b}, set);
    }
}
