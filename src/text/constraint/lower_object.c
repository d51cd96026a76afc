/* SPDX-License-Identifier: MIT */
/* From the members of an object as given to the tables that its frames are steered by.
 * Input: keys, classes and limits. Output: a power_object with keys in the order of their bytes.
 * Threads: one. Bounds: n log n in the keys. */
#include <stdlib.h>

#include "text/constraint/program.h"

bool power_grammar_spell_key(struct power_grammar *g, struct power_text key,
                             struct power_text *out) {
    static const char hex[] = "0123456789abcdef";
    static const char shorts[] = "btn?fr"; /* U+0008 .. U+000D */
    if (key.length > UINT32_MAX / 16) {
        return power_grammar_fail(g, POWER_LIMIT, "a key has %zu bytes, limit %u", key.length,
                                  UINT32_MAX / 16);
    }
    char *text = power_grammar_alloc(g, key.length * 6 + 2, 1);
    if (!text) return false;
    static const char prefix[4] = {'\\', 'u', '0', '0'};
    size_t n = 0;
    text[n++] = '"';
    for (size_t i = 0; i < key.length; i++) {
        unsigned char c = (unsigned char)key.bytes[i];
        if (c >= 0x20) {
            if (c == '"' || c == '\\') text[n++] = '\\';
            text[n++] = (char)c;
        } else if (c >= 8 && c <= 13 && c != 11) {
            text[n++] = '\\';
            text[n++] = shorts[c - 8];
        } else {
            memcpy(text + n, prefix, sizeof prefix);
            text[n + 4] = hex[c >> 4];
            text[n + 5] = hex[c & 15];
            n += 6;
        }
    }
    text[n++] = '"';
    *out = (struct power_text){text, n};
    return true;
}

/* Members that the keys allow, values with texts only; saturating. */
static uint64_t capacity(const struct power_grammar *g, const struct power_stored_members *m) {
    uint64_t n = 0;
    for (size_t i = 0; i < m->given.n_named; i++)
        n += g->exprs[m->given.named[i].value].productive;
    for (size_t i = 0; i < m->given.n_classes; i++) {
        if (!g->exprs[m->given.classes[i].value].productive) continue;
        uint64_t count = g->regulars[m->first_regular + i].counts[0];
        n = count > UINT64_MAX - n ? UINT64_MAX : n + count;
    }
    return n;
}

bool power_members_productive(const struct power_grammar *g,
                              const struct power_stored_members *members) {
    const struct power_members *m = &members->given;
    uint64_t required = 0;
    if (!g->exprs[m->colon].productive || !g->exprs[m->comma].productive) return false;
    for (size_t i = 0; i < m->n_named; i++) {
        if (m->named[i].required && !g->exprs[m->named[i].value].productive) return false;
        required += m->named[i].required;
    }
    return required <= m->max && m->min <= m->max && capacity(g, members) >= m->min;
}

static int compare_keys(const void *a, const void *b) {
    const struct power_object_key *x = a, *y = b;
    size_t n = x->key.length < y->key.length ? x->key.length : y->key.length;
    int order = memcmp(x->key.bytes, y->key.bytes, n);
    if (order) return order;
    return (x->key.length > y->key.length) - (x->key.length < y->key.length);
}

static bool check_distinct(struct power_grammar *g, const struct power_object_key *keys,
                           uint32_t n) {
    for (uint32_t i = 1; i < n; i++) {
        if (compare_keys(&keys[i - 1], &keys[i]) != 0) continue;
        struct power_quoted key = power_quote(keys[i].key.bytes, keys[i].key.length);
        return power_grammar_fail(g, POWER_INVALID, "key %s is declared twice", key.text);
    }
    return true;
}

static bool lower_keys(struct power_grammar *g, const struct power_members *m,
                       struct power_object *out) {
    struct power_object_key *keys = power_grammar_alloc(g, m->n_named + 1, sizeof *keys);
    uint32_t *sorted_of = power_grammar_alloc(g, m->n_named + 1, sizeof *sorted_of);
    uint32_t *required = power_grammar_alloc(g, m->n_named + 1, sizeof *required);
    if (!keys || !sorted_of || !required) return false;
    uint32_t n = 0;
    for (size_t i = 0; i < m->n_named; i++) {
        const struct power_named_member *named = &m->named[i];
        if (!g->exprs[named->value].productive) continue;
        keys[n] = (struct power_object_key){.key = named->key,
                                            .order = n,
                                            .value = power_grammar_callable(g, named->value),
                                            .required = named->required};
        n++;
    }
    if (n > 1) qsort(keys, n, sizeof *keys, compare_keys);
    for (uint32_t i = 0; i < n; i++) {
        sorted_of[keys[i].order] = i;
        required[keys[i].order] = keys[i].required;
    }
    for (uint32_t i = n; i > 0; i--)
        required[i - 1] += required[i];
    out->keys = keys;
    out->sorted_of = sorted_of;
    out->required_from = required;
    out->n_keys = n;
    return check_distinct(g, keys, n);
}

bool power_grammar_lower_object(struct power_grammar *g, const struct power_stored_members *members,
                                struct power_object *out) {
    const struct power_members *m = &members->given;
    *out = (struct power_object){.any_order = m->any_order, .min = m->min, .max = m->max};
    struct power_object_class *classes = power_grammar_alloc(g, m->n_classes + 1, sizeof *classes);
    if (!classes) return false;
    for (size_t i = 0; i < m->n_classes; i++) {
        if (!g->exprs[m->classes[i].value].productive) continue;
        classes[out->n_classes++] = (struct power_object_class){
            members->first_regular + (uint32_t)i, power_grammar_callable(g, m->classes[i].value)};
    }
    out->classes = classes;
    out->colon = power_grammar_callable(g, m->colon);
    out->comma = power_grammar_callable(g, m->comma);
    return lower_keys(g, m, out) && g->status == POWER_OK;
}
