/* SPDX-License-Identifier: MIT */
/* Numbers of a schema as decimal text, exactly, and automata given by their steps.
 * Input: JSON numbers; step functions over the characters of numbers. Output: digits and a point;
 * trimmed automata. Threads: one a compilation.
 * Bounds: SCHEMA_MAX_DIGITS on each side of the point; states of an automaton as of the grammar. */
#include "text/constraint/schema.h"

static const char *digits_in(struct power_text text, size_t *at, char *out, uint32_t *n) {
    while (*at < text.length && text.bytes[*at] >= '0' && text.bytes[*at] <= '9')
        out[(*n)++] = text.bytes[(*at)++];
    return out;
}

/* The exponent behind e or E, held within a million. */
static int32_t exponent_in(struct power_text text, size_t at) {
    int32_t value = 0;
    bool minus = at < text.length && text.bytes[at] == '-';
    if (at < text.length && (text.bytes[at] == '-' || text.bytes[at] == '+')) at++;
    for (; at < text.length; at++) {
        value = value * 10 + (text.bytes[at] - '0');
        if (value > 1000000) value = 1000000;
    }
    return minus ? -value : value;
}

bool power_schema_decimal(struct schema *s, uint32_t at, struct schema_decimal *out) {
    if (s->values[at].type != SCHEMA_NUMBER)
        return power_schema_fail(s, POWER_INVALID, at, "must be a number");
    struct power_text text = s->values[at].text;
    char *digits = power_schema_alloc(s, text.length + 1, 1);
    if (!digits) return false;
    uint32_t n = 0;
    size_t i = text.bytes[0] == '-';
    bool negative = i != 0;
    digits_in(text, &i, digits, &n);
    int64_t point = n;
    if (i < text.length && text.bytes[i] == '.') {
        i++;
        digits_in(text, &i, digits, &n);
    }
    if (i < text.length) point += exponent_in(text, i + 1);
    while (n > 0 && digits[n - 1] == '0')
        n--;
    uint32_t zeros = 0;
    while (zeros < n && digits[zeros] == '0')
        zeros++;
    point -= zeros;
    *out = (struct schema_decimal){negative && n > zeros, digits + zeros, n - zeros, 0};
    if (out->n == 0) return true;
    if (point > SCHEMA_MAX_DIGITS || (int64_t)out->n - point > SCHEMA_MAX_DIGITS)
        return power_schema_fail(s, POWER_LIMIT, at,
                                 "has more than 400 digits before or after the point");
    out->point = (int32_t)point;
    return true;
}

bool power_schema_count(struct schema *s, uint32_t at, uint32_t *out) {
    struct schema_decimal d = {0};
    if (!power_schema_decimal(s, at, &d)) return false;
    if (d.negative || (d.n > 0 && (int64_t)d.n > d.point))
        return power_schema_fail(s, POWER_INVALID, at, "must be a whole number of at least 0");
    uint64_t value = 0;
    for (int32_t i = 0; i < d.point && value < SCHEMA_MANY; i++)
        value = value * 10 + (uint64_t)((uint32_t)i < d.n ? d.digits[i] - '0' : 0);
    *out = value < SCHEMA_MANY ? (uint32_t)value : SCHEMA_MANY;
    return true;
}

static const char alphabet[] = "+-.0123456789Ee"; /* by code */
enum { SYMBOLS = 15 };

struct table {
    struct schema *s;
    uint64_t *codes;
    uint32_t (*edges)[SYMBOLS];
    uint32_t n, max, max_edges, limit;
    uint32_t *slots; /* 1 + state */
    uint32_t n_slots;
    struct power_arena scratch;
};

static uint32_t slot_of(const struct table *t, uint64_t code) {
    uint32_t slot = (uint32_t)(code * 0x9E3779B97F4A7C15u >> 40) & (t->n_slots - 1);
    while (t->slots[slot] != 0 && t->codes[t->slots[slot] - 1] != code)
        slot = (slot + 1) & (t->n_slots - 1);
    return slot;
}

static bool grow_slots(struct table *t) {
    if (t->n * 2 < t->n_slots) return true;
    uint32_t n = t->n_slots ? t->n_slots * 4 : 256;
    uint32_t *slots = power_alloc(t->s->allocator, n, sizeof *slots);
    if (!slots) return power_schema_memory(t->s);
    power_release(t->s->allocator, t->slots, t->n_slots, sizeof *t->slots);
    t->slots = slots;
    t->n_slots = n;
    for (uint32_t i = 0; i < t->n; i++)
        slots[slot_of(t, t->codes[i])] = i + 1;
    return true;
}

static bool find_state(struct table *t, uint64_t code, uint32_t at, uint32_t *out) {
    if (!grow_slots(t)) return false;
    uint32_t slot = slot_of(t, code);
    if (t->slots[slot] == 0) {
        if (t->n == t->limit)
            return power_schema_fail(t->s, POWER_LIMIT, at,
                                     "needs an automaton of more states than allowed");
        if (!power_schema_grow(t->s, (void **)&t->codes, &t->max, t->n, sizeof *t->codes) ||
            !power_schema_grow(t->s, (void **)&t->edges, &t->max_edges, t->n, sizeof *t->edges))
            return false;
        t->codes[t->n++] = code;
        t->slots[slot] = t->n;
    }
    *out = t->slots[slot] - 1;
    return true;
}

static bool explore(struct table *t, const struct schema_machine *m, uint32_t at) {
    uint32_t start;
    if (!find_state(t, 0, at, &start)) return false;
    for (uint32_t i = 0; i < t->n; i++) {
        for (uint32_t k = 0; k < SYMBOLS; k++) {
            uint64_t code = m->next(m->context, t->codes[i], alphabet[k]);
            uint32_t to = SCHEMA_NONE;
            if (code != MACHINE_DEAD && !find_state(t, code, at, &to)) return false;
            t->edges[i][k] = to;
        }
    }
    return true;
}

/* Which states reach acceptance: backwards until nothing changes (few rounds: most edges go on). */
static void mark_useful(const struct table *t, bool *useful) {
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = t->n; i-- > 0;) {
            for (uint32_t k = 0; k < SYMBOLS && !useful[i]; k++) {
                uint32_t to = t->edges[i][k];
                useful[i] = to != SCHEMA_NONE && useful[to];
                changed = changed || useful[i];
            }
        }
    }
}

static void *scratch(struct table *t, size_t count, size_t size) {
    void *memory = power_arena_alloc(&t->scratch, count, size);
    if (!memory) (void)power_schema_memory(t->s);
    return memory;
}

static bool write_automaton(struct table *t, const struct schema_machine *m, const bool *useful,
                            struct power_regular *out) {
    uint32_t *number = scratch(t, t->n, sizeof *number), n = 0, n_edges = 0;
    struct power_regular_edge *edges = scratch(t, (size_t)t->n * SYMBOLS, sizeof *edges);
    struct power_regular_state *states = scratch(t, t->n, sizeof *states);
    if (!number || !edges || !states) return false;
    for (uint32_t i = 0; i < t->n; i++)
        number[i] = useful[i] ? n++ : SCHEMA_NONE;
    if (!useful[0]) n = 0;
    for (uint32_t i = 0; i < t->n && n > 0; i++) {
        if (!useful[i]) continue;
        struct power_regular_state *state = &states[number[i]];
        *state = (struct power_regular_state){n_edges, 0, m->accepts(m->context, t->codes[i])};
        for (uint32_t k = 0; k < SYMBOLS; k++) {
            uint32_t to = t->edges[i][k], c = (unsigned char)alphabet[k];
            if (to == SCHEMA_NONE || !useful[to]) continue;
            struct power_regular_edge *last = &edges[n_edges - (n_edges > 0)];
            if (state->n_edges > 0 && last->to == number[to] && last->last + 1 == c) {
                last->last = c;
                continue;
            }
            edges[n_edges++] = (struct power_regular_edge){c, c, number[to]};
            state->n_edges++;
        }
    }
    *out = (struct power_regular){states, edges, n, n > 0 ? n_edges : 0};
    return true;
}

static bool build(struct table *t, const struct schema_machine *m, uint32_t at,
                  const struct power_regular **out) {
    if (!explore(t, m, at)) return false;
    bool *useful = scratch(t, t->n, 1);
    struct power_regular *raw = scratch(t, 1, sizeof *raw);
    struct power_regular *small = power_schema_alloc(t->s, 1, sizeof *small);
    if (!useful || !raw || !small) return false;
    for (uint32_t i = 0; i < t->n; i++)
        useful[i] = m->accepts(m->context, t->codes[i]);
    mark_useful(t, useful);
    if (!write_automaton(t, m, useful, raw)) return false;
    *out = t->s->no_text;
    if (raw->n_states == 0) return true;
    power_error why = {0}; /* a union with nothing is the same language, minimised */
    power_status status = power_regular_union(&t->s->space, raw, 1, small, &why);
    *out = small;
    return power_schema_check(t->s, status, at, &why);
}

bool power_schema_machine(struct schema *s, uint32_t at, const struct schema_machine *machine,
                          const struct power_regular **out) {
    struct table t = {.s = s, .limit = s->space.max_states ? s->space.max_states : 20000};
    power_arena_init(&t.scratch, s->allocator, SCHEMA_ARENA_BYTES);
    bool built = build(&t, machine, at, out);
    power_arena_finish(&t.scratch);
    power_release(s->allocator, t.slots, t.n_slots, sizeof *t.slots);
    power_release(s->allocator, t.codes, t.max, sizeof *t.codes);
    power_release(s->allocator, t.edges, t.max_edges, sizeof *t.edges);
    return built;
}
