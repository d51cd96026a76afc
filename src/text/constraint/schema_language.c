/* SPDX-License-Identifier: MIT */
/* Set operations on languages with the easy cases first.
 * Input: automata of one compilation, borrowed. Output: automata in its arena; NULL is a failure.
 * Threads: one a compilation. Bounds: states as of the grammar's space. */
#include "text/constraint/schema.h"
#include "text/utf8.h"

static bool is_all(const struct schema *s, const struct power_regular *a) {
    return a == s->all_texts;
}

static const struct power_regular *result(struct schema *s, power_status status,
                                          struct power_regular *made, const power_error *why) {
    if (!power_schema_check(s, status, s->blame, why)) return NULL;
    return made->n_states == 0 ? s->no_text : made;
}

const struct power_regular *power_schema_and(struct schema *s, const struct power_regular *a,
                                             const struct power_regular *b) {
    if (!a || !b) return NULL;
    if (a == b || is_all(s, b) || a->n_states == 0) return a;
    if (is_all(s, a) || b->n_states == 0) return b;
    struct power_regular *made = power_schema_alloc(s, 1, sizeof *made);
    power_error why = {0};
    if (!made) return NULL;
    return result(s, power_regular_intersect(&s->space, a, b, made, &why), made, &why);
}

const struct power_regular *power_schema_or(struct schema *s, const struct power_regular *a,
                                            const struct power_regular *b) {
    if (!a || !b) return NULL;
    if (a == b || is_all(s, a) || b->n_states == 0) return a;
    if (is_all(s, b) || a->n_states == 0) return b;
    struct power_regular *made = power_schema_alloc(s, 1, sizeof *made);
    power_error why = {0};
    if (!made) return NULL;
    const struct power_regular parts[2] = {*a, *b};
    return result(s, power_regular_union(&s->space, parts, 2, made, &why), made, &why);
}

const struct power_regular *power_schema_minus(struct schema *s, const struct power_regular *a,
                                               const struct power_regular *b) {
    if (!a || !b) return NULL;
    if (a == b || is_all(s, b)) return s->no_text;
    if (a->n_states == 0 || b->n_states == 0) return a;
    struct power_regular *made = power_schema_alloc(s, 1, sizeof *made);
    power_error why = {0};
    if (!made) return NULL;
    return result(s, power_regular_subtract(&s->space, a, b, made, &why), made, &why);
}

const struct power_regular *power_schema_union(struct schema *s, const struct power_regular *parts,
                                               uint32_t n) {
    struct power_regular *made = power_schema_alloc(s, 1, sizeof *made);
    power_error why = {0};
    if (!made) return NULL;
    return result(s, power_regular_union(&s->space, parts, n, made, &why), made, &why);
}

const struct power_regular *power_schema_literals(struct schema *s, const struct power_text *texts,
                                                  uint32_t n) {
    if (n == 0) return s->no_text;
    struct power_regular *parts = power_schema_alloc(s, n, sizeof *parts);
    power_error why = {0};
    if (!parts) return NULL;
    for (uint32_t i = 0; i < n; i++) {
        power_status status = power_regular_literal(&s->space, texts[i], &parts[i], &why);
        if (!power_schema_check(s, status, s->blame, &why)) return NULL;
    }
    return n == 1 ? parts : power_schema_union(s, parts, n);
}

const struct power_regular *power_schema_strings(struct schema *s, struct schema_strings strings) {
    const struct power_regular *language = strings.language ? strings.language : s->all_texts;
    if (strings.min > strings.max) return s->no_text;
    if (strings.min == 0 && strings.max == SCHEMA_MANY) return language;
    struct power_regular *length = power_schema_alloc(s, 1, sizeof *length);
    power_error why = {0};
    if (!length) return NULL;
    power_status status = power_regular_length(&s->space, strings.min, strings.max, length, &why);
    if (!power_schema_check(s, status, s->blame, &why)) return NULL;
    return power_schema_and(s, length, language);
}

bool power_schema_strings_empty(struct schema *s, struct schema_strings strings) {
    if (!strings.language) return strings.min > strings.max;
    const struct power_regular *language = power_schema_strings(s, strings);
    return language && language->n_states == 0;
}

bool power_schema_has_key(const struct schema *s, const struct power_regular *keys, uint32_t key) {
    return keys == s->all_texts || power_regular_contains(keys, s->key_texts[key]);
}

bool power_schema_size(struct schema *s, const struct power_regular *language, uint64_t *out) {
    *out = language == s->all_texts ? UINT64_MAX : 0;
    if (language == s->all_texts || language->n_states == 0) return true;
    uint64_t *counts = power_schema_alloc(s, language->n_states, sizeof *counts);
    power_error why = {0};
    if (!counts) return false;
    power_status status = power_regular_count(&s->space, language, counts, &why);
    *out = counts[0];
    return power_schema_check(s, status, s->blame, &why);
}

/* The edge behind which text number *rank lies; *rank becomes its number there. */
static const struct power_regular_edge *edge_of(const struct power_regular *a, uint32_t state,
                                                const uint64_t *counts, uint64_t *rank,
                                                uint32_t *out_code) {
    const struct power_regular_edge *edge = &a->edges[a->states[state].first_edge];
    const struct power_regular_edge *end = edge + a->states[state].n_edges;
    for (; edge < end; edge++) {
        uint64_t each = counts[edge->to], width = (uint64_t)edge->last - edge->first + 1;
        if (each != 0 && *rank / each < width) {
            *out_code = edge->first + (uint32_t)(*rank / each);
            *rank %= each;
            return edge;
        }
        *rank -= each * width;
    }
    return NULL;
}

bool power_schema_text_at(struct schema *s, const struct power_regular *language, uint64_t rank,
                          struct power_text *out) {
    uint64_t *counts = power_schema_alloc(s, language->n_states, sizeof *counts);
    char *bytes = power_schema_alloc(s, (size_t)language->n_states * 4 + 1, 1);
    power_error why = {0};
    if (!counts || !bytes) return false;
    power_status status = power_regular_count(&s->space, language, counts, &why);
    if (!power_schema_check(s, status, s->blame, &why)) return false;
    size_t n = 0;
    for (uint32_t state = 0; !language->states[state].accepts || rank-- > 0;) {
        uint32_t code;
        const struct power_regular_edge *edge = edge_of(language, state, counts, &rank, &code);
        if (!edge) break;
        n += power_utf8_put(code, bytes + n);
        state = edge->to;
    }
    *out = (struct power_text){bytes, n};
    return true;
}
