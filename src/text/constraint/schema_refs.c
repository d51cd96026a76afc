/* SPDX-License-Identifier: MIT */
/* Names inside a schema document: $id, $anchor, and what $ref means by them.
 * Input: the document. Output: the value that a reference means.
 * Threads: one a compilation.
 * Bounds: one visit of each value; a reference that leaves the document is refused. */
#include "text/constraint/schema.h"

struct visit {
    uint32_t at, resource;
};
struct visits {
    struct visit *items;
    uint32_t n, max;
};

static bool push(struct schema *s, struct visits *v, uint32_t at, uint32_t resource) {
    if (!power_schema_grow(s, (void **)&v->items, &v->max, v->n, sizeof *v->items)) return false;
    v->items[v->n++] = (struct visit){at, resource};
    return true;
}

static bool push_children(struct schema *s, struct visits *v, uint32_t at, uint32_t resource) {
    for (uint32_t c = s->values[at].first; c != SCHEMA_NONE; c = s->values[c].next)
        if (!push(s, v, c, resource)) return false;
    return true;
}

static struct power_text without_fragment(struct power_text uri, struct power_text *out_fragment) {
    const char *mark = uri.length ? memchr(uri.bytes, '#', uri.length) : NULL;
    *out_fragment = (struct power_text){0};
    if (!mark) return uri;
    size_t head = (size_t)(mark - uri.bytes);
    *out_fragment = (struct power_text){mark + 1, uri.length - head - 1};
    return (struct power_text){uri.bytes, head};
}

static bool add_target(struct schema *s, uint32_t at, struct power_text uri,
                       struct power_text anchor, bool has_anchor, uint32_t value) {
    size_t length = uri.length + has_anchor + anchor.length;
    char *text = power_schema_alloc(s, length + 1, 1);
    if (!text) return false;
    if (uri.length) memcpy(text, uri.bytes, uri.length);
    if (has_anchor) {
        text[uri.length] = '#';
        if (anchor.length) memcpy(text + uri.length + 1, anchor.bytes, anchor.length);
    }
    struct power_text key = {text, length};
    uint32_t old;
    if (power_index_add(s->targets, key, value)) return true;
    return (power_index_find(s->targets, key, &old) && old == value) ||
           power_schema_fail(s, POWER_INVALID, at, "the name is taken already");
}

static bool add_resource(struct schema *s, uint32_t root, struct power_text uri) {
    if (!power_schema_grow(s, (void **)&s->resources, &s->max_resources, s->n_resources,
                           sizeof *s->resources))
        return false;
    s->resources[s->n_resources++] = (struct schema_resource){root, uri};
    s->values[root].resource = s->n_resources;
    return true;
}

/* The resource that `at` begins or belongs to. An $id of draft-07 may be an anchor. */
static bool read_id(struct schema *s, uint32_t at, uint32_t *resource) {
    uint32_t id = power_schema_get(s, at, "$id");
    if (id == SCHEMA_NONE || (s->draft7 && power_schema_get(s, at, "$ref") != SCHEMA_NONE))
        return true;
    if (s->values[id].type != SCHEMA_STRING)
        return power_schema_fail(s, POWER_INVALID, id, "must be a string");
    struct power_text base = s->resources[*resource - 1].uri, fragment;
    struct power_text text = s->values[id].text;
    struct power_text uri = power_uri_join(&s->arena, base, text);
    if (!uri.bytes) return power_schema_memory(s);
    uri = without_fragment(uri, &fragment);
    if (text.length && text.bytes[0] == '#') {
        if (!s->draft7 && fragment.length)
            return power_schema_fail(s, POWER_INVALID, id, "has a fragment");
        return fragment.length == 0 || add_target(s, id, base, fragment, true, at);
    }
    if (fragment.length) return power_schema_fail(s, POWER_INVALID, id, "has a fragment");
    if (s->values[at].resource) {
        s->resources[s->values[at].resource - 1].uri = uri;
    } else if (!add_resource(s, at, uri)) {
        return false;
    }
    *resource = s->values[at].resource;
    return add_target(s, id, uri, (struct power_text){0}, false, at);
}

static bool read_anchor(struct schema *s, uint32_t at, const char *word, uint32_t resource) {
    uint32_t anchor = power_schema_get(s, at, word);
    if (anchor == SCHEMA_NONE) return true;
    if (s->values[anchor].type != SCHEMA_STRING || s->values[anchor].text.length == 0)
        return power_schema_fail(s, POWER_INVALID, anchor, "must be a name");
    struct power_text name = s->values[anchor].text;
    if (word[1] == 'd') {
        uint32_t twice;
        if (power_index_find(s->dynamic, name, &twice)) {
            s->dynamic_twice[twice] = true;
        } else if (!power_schema_key(s, name, &twice)) {
            return false;
        } else {
            (void)power_index_add(s->dynamic, name, twice);
        }
    }
    return add_target(s, anchor, s->resources[resource - 1].uri, name, true, at);
}

static bool visit_words(struct schema *s, struct visits *v, uint32_t at, uint32_t resource) {
    for (uint32_t c = s->values[at].first; c != SCHEMA_NONE; c = s->values[c].next) {
        bool good = true;
        switch (power_schema_word(s->values[c].key, s->draft7)) {
        case WORD_SCHEMA:
            good = push(s, v, c, resource);
            break;
        case WORD_ITEMS:
            good = s->values[c].type == SCHEMA_ARRAY ? push_children(s, v, c, resource)
                                                     : push(s, v, c, resource);
            break;
        case WORD_LIST:
            good = s->values[c].type != SCHEMA_ARRAY || push_children(s, v, c, resource);
            break;
        case WORD_MAP:
        case WORD_NEEDS:
            good = s->values[c].type != SCHEMA_OBJECT || push_children(s, v, c, resource);
            break;
        case WORD_UNKNOWN:
        case WORD_NOTE:
        case WORD_PLAIN:
        case WORD_REFUSED:
            break;
        }
        if (!good) return false;
    }
    return true;
}

static bool visit_all(struct schema *s, struct visits *v) {
    if (!add_resource(s, 0, (struct power_text){0}) || !push(s, v, 0, 1)) return false;
    while (v->n > 0) {
        struct visit now = v->items[--v->n];
        if (s->values[now.at].type != SCHEMA_OBJECT) continue;
        if (!read_id(s, now.at, &now.resource)) return false;
        if (!read_anchor(s, now.at, "$anchor", now.resource) ||
            !read_anchor(s, now.at, "$dynamicAnchor", now.resource) ||
            !visit_words(s, v, now.at, now.resource))
            return false;
    }
    return true;
}

bool power_schema_collect(struct schema *s) {
    uint32_t most = 2;
    for (uint32_t i = 0; i < s->n_values; i++)
        if (s->values[i].key.length > 2 && s->values[i].key.bytes[0] == '$') most++;
    if (power_index_create(s->allocator, most, &s->targets, NULL) != POWER_OK ||
        power_index_create(s->allocator, most, &s->dynamic, NULL) != POWER_OK)
        return power_schema_memory(s);
    struct visits v = {0};
    bool good = visit_all(s, &v);
    power_release(s->allocator, v.items, v.max, sizeof *v.items);
    return good;
}

static uint32_t resource_of(const struct schema *s, uint32_t at) {
    while (s->values[at].resource == 0)
        at = s->values[at].parent;
    return s->values[at].resource;
}

static int hex(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool percent_decode(struct schema *s, struct power_text text, struct power_text *out) {
    char *bytes = power_schema_alloc(s, text.length + 1, 1);
    if (!bytes) return false;
    size_t n = 0;
    for (size_t i = 0; i < text.length; i++) {
        char c = text.bytes[i];
        if (c == '%' && text.length - i > 2 && hex(text.bytes[i + 1]) >= 0 &&
            hex(text.bytes[i + 2]) >= 0) {
            c = (char)(hex(text.bytes[i + 1]) * 16 + hex(text.bytes[i + 2]));
            i += 2;
        }
        bytes[n++] = c;
    }
    *out = (struct power_text){bytes, n};
    return true;
}

/* One step of a JSON pointer (RFC 6901) with ~0 and ~1 resolved in place. */
static struct power_text unescape(char *bytes, size_t length) {
    size_t n = 0;
    for (size_t i = 0; i < length; i++) {
        char c = bytes[i];
        if (c == '~' && i + 1 < length && (bytes[i + 1] == '0' || bytes[i + 1] == '1'))
            c = bytes[++i] == '0' ? '~' : '/';
        bytes[n++] = c;
    }
    return (struct power_text){bytes, n};
}

static uint32_t item_at(const struct schema *s, uint32_t array, struct power_text index) {
    uint32_t i = 0;
    if (index.length == 0 || index.length > 9 || (index.length > 1 && index.bytes[0] == '0'))
        return SCHEMA_NONE;
    for (size_t k = 0; k < index.length; k++) {
        if (index.bytes[k] < '0' || index.bytes[k] > '9') return SCHEMA_NONE;
        i = i * 10 + (uint32_t)(index.bytes[k] - '0');
    }
    uint32_t c = s->values[array].first;
    while (c != SCHEMA_NONE && i-- > 0)
        c = s->values[c].next;
    return c;
}

static bool follow_pointer(struct schema *s, uint32_t root, struct power_text fragment,
                           uint32_t *out) {
    struct power_text pointer;
    if (!percent_decode(s, fragment, &pointer)) return false;
    char *copy = power_arena_text(&s->arena, pointer.bytes, pointer.length);
    if (!copy) return power_schema_memory(s);
    uint32_t at = root;
    for (size_t i = 0; i < pointer.length && at != SCHEMA_NONE;) {
        size_t start = ++i; /* behind the slash */
        while (i < pointer.length && pointer.bytes[i] != '/')
            i++;
        struct power_text step = unescape(copy + start, i - start);
        at = s->values[at].type == SCHEMA_ARRAY ? item_at(s, at, step)
                                                : power_schema_get_text(s, at, step);
    }
    *out = at;
    return true;
}

bool power_schema_resolve(struct schema *s, uint32_t ref, uint32_t *out_target) {
    if (s->values[ref].type != SCHEMA_STRING)
        return power_schema_fail(s, POWER_INVALID, ref, "must be a string");
    const struct schema_resource *here = &s->resources[resource_of(s, s->values[ref].parent) - 1];
    struct power_text fragment;
    struct power_text head = without_fragment(s->values[ref].text, &fragment);
    struct power_text uri = here->uri;
    uint32_t root = here->root, target = SCHEMA_NONE;
    if (head.length) {
        uri = power_uri_join(&s->arena, here->uri, head);
        if (!uri.bytes) return power_schema_memory(s);
        if (!power_index_find(s->targets, uri, &root))
            return power_schema_fail(s, POWER_UNSUPPORTED, ref,
                                     "names something outside of this document");
    }
    if (fragment.length == 0) {
        target = root;
    } else if (fragment.bytes[0] == '/') {
        if (!follow_pointer(s, root, fragment, &target)) return false;
    } else {
        struct power_text name, full;
        if (!percent_decode(s, fragment, &name)) return false;
        char *bytes = power_schema_alloc(s, uri.length + name.length + 2, 1);
        if (!bytes) return false;
        if (uri.length) memcpy(bytes, uri.bytes, uri.length);
        bytes[uri.length] = '#';
        memcpy(bytes + uri.length + 1, name.bytes, name.length);
        full = (struct power_text){bytes, uri.length + 1 + name.length};
        if (!power_index_find(s->targets, full, &target)) target = SCHEMA_NONE;
    }
    if (target == SCHEMA_NONE)
        return power_schema_fail(s, POWER_INVALID, ref, "there is nothing at its target");
    enum schema_type type = s->values[target].type;
    if (type != SCHEMA_OBJECT && type != SCHEMA_TRUE && type != SCHEMA_FALSE)
        return power_schema_fail(s, POWER_INVALID, ref, "its target is no schema");
    *out_target = target;
    return true;
}

/* Where a name is a $dynamicAnchor only once in the document, the dynamic scope cannot matter. */
bool power_schema_resolve_dynamic(struct schema *s, uint32_t ref, uint32_t *out_target) {
    if (!power_schema_resolve(s, ref, out_target)) return false;
    struct power_text fragment, name;
    (void)without_fragment(s->values[ref].text, &fragment);
    uint32_t key;
    if (fragment.length == 0 || fragment.bytes[0] == '/') return true;
    if (!percent_decode(s, fragment, &name)) return false;
    uint32_t own = power_schema_get(s, *out_target, "$dynamicAnchor");
    if (own == SCHEMA_NONE || !power_text_equal(s->values[own].text, name)) return true;
    return !power_index_find(s->dynamic, name, &key) || !s->dynamic_twice[key] ||
           power_schema_fail(s, POWER_UNSUPPORTED, ref,
                             "depends on the path of evaluation: several anchors have this name");
}
