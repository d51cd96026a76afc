/* SPDX-License-Identifier: MIT */
/* The schema's text as a tree of values, with places for messages.
 * Input: untrusted JSON. Output: values in document order, and numbers for keys.
 * Threads: one a compilation.
 * Bounds: SCHEMA_MAX_BYTES of text and the reader's nesting; a key twice in one object is an error.
 */
#include <stdio.h>
#include <stdlib.h>

#include "text/constraint/schema.h"
#include "text/utf8.h"

/* Writes the JSON pointer of a value; of a long one its end. */
static void write_pointer(const struct schema *s, uint32_t at, char *out, size_t size) {
    size_t place = size - 1; /* written from its end, then moved to the front */
    out[place] = 0;
    bool cut = false;
    for (; at < s->n_values && s->values[at].parent != SCHEMA_NONE && !cut;
         at = s->values[at].parent) {
        const struct schema_value *value = &s->values[at];
        const struct schema_value *parent = &s->values[value->parent];
        char number[16];
        struct power_text step = value->key;
        if (parent->type == SCHEMA_ARRAY) {
            uint32_t i = 0;
            for (uint32_t c = parent->first; c != at; c = s->values[c].next)
                i++;
            step.length = (size_t)snprintf(number, sizeof number, "%u", i);
            step.bytes = number;
        }
        for (size_t i = step.length; i-- > 0 && !cut;) {
            unsigned char c = (unsigned char)step.bytes[i];
            bool special = c == '~' || c == '/';
            cut = place < 6;
            if (cut) break;
            out[--place] = special ? (c == '~' ? '0' : '1') : c < 0x20 || c == 0x7f ? '?' : (char)c;
            if (special) out[--place] = '~';
        }
        cut = cut || place < 6;
        if (!cut) out[--place] = '/';
    }
    if (cut) { /* from the next whole step on */
        while (out[place] && out[place] != '/')
            place++;
        memcpy(out, "...", 3); /* the first step was longer than this */
        memmove(out + 3, out + place, size - place);
        return;
    }
    memmove(out, out + place, size - place);
}

/* The keyword that a value belongs to: the nearest member above it that is one. */
bool power_schema_fail(struct schema *s, power_status status, uint32_t at, const char *fault) {
    if (s->status != POWER_OK || (s->probing && status == POWER_UNSUPPORTED)) return false;
    s->status = status;
    char pointer[112];
    write_pointer(s, at, pointer, sizeof pointer);
    struct power_text key = {0};
    if (at < s->n_values) key = s->values[at].key;
    if (key.length && power_schema_word(key, s->draft7) != WORD_UNKNOWN)
        (void)power_fail(s->error, status, "schema: \"%s\" at \"%s\": %s",
                         power_quote(key.bytes, key.length).text, pointer, fault);
    else
        (void)power_fail(s->error, status, "schema at \"%s\": %s", pointer, fault);
    return false;
}

bool power_schema_memory(struct schema *s) {
    if (s->status != POWER_OK) return false;
    if (s->arena.used_bytes > SCHEMA_ARENA_BYTES / 2) {
        s->status = power_fail(s->error, POWER_LIMIT,
                               "schema needs more than the limit of %d bytes", SCHEMA_ARENA_BYTES);
        return false;
    }
    s->status = power_fail_memory(s->error, s->arena.used_bytes, "a schema");
    return false;
}

bool power_schema_check(struct schema *s, power_status status, uint32_t at,
                        const power_error *why) {
    if (status == POWER_OK) return true;
    if (status == POWER_NO_MEMORY) return power_schema_memory(s);
    return power_schema_fail(s, status == POWER_CORRUPT ? POWER_INVALID : status, at,
                             why && why->message[0] ? why->message : power_status_text(status));
}

void *power_schema_alloc(struct schema *s, size_t count, size_t size) {
    void *memory = power_arena_alloc(&s->arena, count ? count : 1, size);
    if (!memory) (void)power_schema_memory(s);
    return memory;
}

bool power_schema_grow(struct schema *s, void **items, uint32_t *max, uint32_t n, size_t size) {
    if (n < *max) return true;
    uint32_t more = *max ? *max * 2 : 64;
    if (more > UINT32_MAX / 4) return power_schema_memory(s);
    void *grown = power_alloc(s->allocator, more, size);
    if (!grown) return power_schema_memory(s);
    if (*max) memcpy(grown, *items, *max * size);
    power_release(s->allocator, *items, *max, size);
    *items = grown;
    *max = more;
    return true;
}

struct reading {
    struct power_json json;
    uint32_t stack[POWER_JSON_DEPTH], last[POWER_JSON_DEPTH];
    uint32_t depth;
    struct power_text key;
};

static bool keep_text(struct schema *s, struct power_text text, struct power_text *out) {
    out->length = text.length;
    out->bytes = power_arena_text(&s->arena, text.bytes ? text.bytes : "", text.length);
    return out->bytes || power_schema_memory(s);
}

static bool add_value(struct schema *s, struct reading *r, enum schema_type type) {
    if (!power_schema_grow(s, (void **)&s->values, &s->max_values, s->n_values, sizeof *s->values))
        return false;
    uint32_t at = s->n_values++;
    struct schema_value *value = &s->values[at];
    *value = (struct schema_value){.type = type,
                                   .parent = SCHEMA_NONE,
                                   .first = SCHEMA_NONE,
                                   .next = SCHEMA_NONE,
                                   .key = r->key};
    r->key = (struct power_text){0};
    if (r->depth > 0) {
        value->parent = r->stack[r->depth - 1];
        struct schema_value *parent = &s->values[value->parent];
        if (parent->n++ == 0)
            parent->first = at;
        else
            s->values[r->last[r->depth - 1]].next = at;
        r->last[r->depth - 1] = at;
    }
    if (type == SCHEMA_ARRAY || type == SCHEMA_OBJECT) r->stack[r->depth++] = at;
    if (type == SCHEMA_STRING || type == SCHEMA_NUMBER)
        return keep_text(s, r->json.value, &s->values[at].text);
    return true;
}

struct named {
    struct power_text key;
    uint32_t at;
};

static int by_key(const void *left, const void *right) {
    const struct named *a = left, *b = right;
    size_t n = a->key.length < b->key.length ? a->key.length : b->key.length;
    int order = n ? memcmp(a->key.bytes, b->key.bytes, n) : 0;
    if (order != 0) return order;
    return (a->key.length > b->key.length) - (a->key.length < b->key.length);
}

/* A key twice has two meanings: refused. */
static bool check_keys(struct schema *s, uint32_t object) {
    uint32_t n = s->values[object].n;
    if (n < 2) return true;
    struct named *list = power_alloc(s->allocator, n, sizeof *list);
    if (!list) return power_schema_memory(s);
    uint32_t i = 0, twice = SCHEMA_NONE;
    for (uint32_t c = s->values[object].first; c != SCHEMA_NONE; c = s->values[c].next)
        list[i++] = (struct named){s->values[c].key, c};
    qsort(list, n, sizeof *list, by_key);
    for (i = 1; i < n && twice == SCHEMA_NONE; i++)
        if (power_text_equal(list[i].key, list[i - 1].key)) twice = list[i].at;
    power_release(s->allocator, list, n, sizeof *list);
    return twice == SCHEMA_NONE ||
           power_schema_fail(s, POWER_INVALID, twice, "the key occurs twice");
}

static bool close_value(struct schema *s, struct reading *r) {
    uint32_t at = r->stack[--r->depth];
    return s->values[at].type != SCHEMA_OBJECT || check_keys(s, at);
}

static bool read_event(struct schema *s, struct reading *r, enum power_json_event event) {
    switch (event) {
    case POWER_JSON_OBJECT:
        return add_value(s, r, SCHEMA_OBJECT);
    case POWER_JSON_ARRAY:
        return add_value(s, r, SCHEMA_ARRAY);
    case POWER_JSON_STRING:
        return add_value(s, r, SCHEMA_STRING);
    case POWER_JSON_NUMBER:
        return add_value(s, r, SCHEMA_NUMBER);
    case POWER_JSON_TRUE:
        return add_value(s, r, SCHEMA_TRUE);
    case POWER_JSON_FALSE:
        return add_value(s, r, SCHEMA_FALSE);
    case POWER_JSON_NULL:
        return add_value(s, r, SCHEMA_NULL);
    case POWER_JSON_KEY:
        return keep_text(s, r->json.value, &r->key);
    case POWER_JSON_OBJECT_END:
    case POWER_JSON_ARRAY_END:
        return close_value(s, r);
    case POWER_JSON_END:
    case POWER_JSON_FAIL:
        break;
    }
    return true;
}

static bool read_all(struct schema *s, struct reading *r, const power_error *broken) {
    for (;;) {
        enum power_json_event event = power_json_next(&r->json);
        if (event == POWER_JSON_END) return true;
        if (event == POWER_JSON_FAIL) {
            power_status status = power_json_status(&r->json);
            s->status = power_fail_at(s->error, status == POWER_CORRUPT ? POWER_INVALID : status,
                                      broken->offset, "%s", broken->message);
            return false;
        }
        if (!read_event(s, r, event)) return false;
    }
}

static bool make_keys(struct schema *s) {
    s->max_keys = 1; /* the empty text stands for nothing yet */
    for (uint32_t i = 0; i < s->n_values; i++)
        s->max_keys += s->values[i].key.bytes != NULL ? 2 : 1;
    s->max_keys += SCHEMA_MAX_ALTERNATIVES; /* keys that a negation spells out */
    s->key_texts = power_alloc(s->allocator, s->max_keys, sizeof *s->key_texts);
    s->key_marks = power_alloc(s->allocator, s->max_keys, sizeof *s->key_marks);
    s->dynamic_twice = power_alloc(s->allocator, s->max_keys, sizeof *s->dynamic_twice);
    if (!s->key_texts || !s->key_marks || !s->dynamic_twice) return power_schema_memory(s);
    return power_schema_check(s, power_index_create(s->allocator, s->max_keys, &s->keys, NULL), 0,
                              NULL);
}

bool power_schema_read(struct schema *s, struct power_text json) {
    if (json.length > SCHEMA_MAX_BYTES) {
        s->status = power_fail(s->error, POWER_LIMIT, "schema of %zu bytes is over the limit of %d",
                               json.length, SCHEMA_MAX_BYTES);
        return false;
    }
    struct reading *r = power_schema_alloc(s, 1, sizeof *r);
    if (!r) return false;
    power_error broken = {0};
    power_json_init(&r->json, s->allocator, json, "schema", &broken);
    bool read = read_all(s, r, &broken);
    power_json_finish(&r->json);
    return read && make_keys(s);
}

uint32_t power_schema_get_text(const struct schema *s, uint32_t object, struct power_text key) {
    if (object >= s->n_values || s->values[object].type != SCHEMA_OBJECT) return SCHEMA_NONE;
    for (uint32_t c = s->values[object].first; c != SCHEMA_NONE; c = s->values[c].next)
        if (power_text_equal(s->values[c].key, key)) return c;
    return SCHEMA_NONE;
}

uint32_t power_schema_get(const struct schema *s, uint32_t object, const char *key) {
    return power_schema_get_text(s, object, power_text_of(key));
}

bool power_schema_key(struct schema *s, struct power_text text, uint32_t *out) {
    if (power_index_find(s->keys, text, out)) return true;
    if (s->n_keys == s->max_keys)
        return power_schema_fail(s, POWER_LIMIT, 0, "too many keys to tell apart");
    *out = s->n_keys++;
    s->key_texts[*out] = text;
    (void)power_index_add(s->keys, text, *out);
    return true;
}
