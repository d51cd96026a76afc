/* SPDX-License-Identifier: MIT */
/* Reference resolution of RFC 3986, section 5.2 (strict).
 * Input: a base and a reference, untrusted. Output: the target in an arena.
 * Threads: any, one an arena.
 * Bounds: linear in the texts; nothing is fetched, ever. */
#include "text/constraint/schema.h"

struct uri {
    struct power_text scheme, authority, path, query, fragment;
    bool has_scheme, has_authority, has_query, has_fragment;
};

static struct power_text cut(struct power_text text, size_t from, size_t to) {
    return (struct power_text){text.bytes + from, to - from};
}

static size_t find_any(struct power_text text, size_t from, const char *stops) {
    while (from < text.length && (text.bytes[from] == 0 || strchr(stops, text.bytes[from]) == NULL))
        from++;
    return from;
}

static bool is_scheme(struct power_text text, size_t end) {
    if (end == 0 || end >= text.length || text.bytes[end] != ':') return false;
    for (size_t i = 0; i < end; i++) {
        char c = text.bytes[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        bool other = (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
        if (!letter && (i == 0 || !other)) return false;
    }
    return true;
}

static struct uri split(struct power_text text) {
    struct uri uri = {0};
    size_t at = 0, end = find_any(text, 0, ":/?#");
    if (is_scheme(text, end)) {
        uri.has_scheme = true;
        uri.scheme = cut(text, 0, end);
        at = end + 1;
    }
    if (text.length - at >= 2 && text.bytes[at] == '/' && text.bytes[at + 1] == '/') {
        end = find_any(text, at + 2, "/?#");
        uri.has_authority = true;
        uri.authority = cut(text, at + 2, end);
        at = end;
    }
    end = find_any(text, at, "?#");
    uri.path = cut(text, at, end);
    if (end < text.length && text.bytes[end] == '?') {
        at = end + 1;
        end = find_any(text, at, "#");
        uri.has_query = true;
        uri.query = cut(text, at, end);
    }
    if (end < text.length) {
        uri.has_fragment = true;
        uri.fragment = cut(text, end + 1, text.length);
    }
    return uri;
}

struct writer {
    char *bytes;
    size_t n;
};

static void put(struct writer *w, struct power_text text) {
    if (text.length) memcpy(w->bytes + w->n, text.bytes, text.length);
    w->n += text.length;
}

/* Section 5.2.4 on what was written since `start`, in place: the output is never longer. */
static void remove_dots(struct writer *w, size_t start) {
    size_t in = start, out = start, end = w->n;
    while (in < end) {
        size_t next = in + (w->bytes[in] == '/');
        while (next < end && w->bytes[next] != '/')
            next++;
        size_t name = in + (w->bytes[in] == '/'), length = next - name;
        bool one = length == 1 && w->bytes[name] == '.';
        bool two = length == 2 && w->bytes[name] == '.' && w->bytes[name + 1] == '.';
        if (two) {
            while (out > start && w->bytes[--out] != '/')
                continue;
        }
        if (one || two) {
            if (next == end && name > in) w->bytes[out++] = '/';
            in = next + (name == in && next < end); /* a leading ../ or ./ goes with its slash */
            continue;
        }
        memmove(w->bytes + out, w->bytes + in, next - in);
        out += next - in;
        in = next;
    }
    w->n = out;
}

static void put_path(struct writer *w, const struct uri *base, const struct uri *reference) {
    size_t start = w->n;
    bool rooted = reference->path.length > 0 && reference->path.bytes[0] == '/';
    if (!rooted) {
        size_t keep = base->path.length;
        while (keep > 0 && base->path.bytes[keep - 1] != '/')
            keep--;
        if (base->has_authority && base->path.length == 0) put(w, POWER_TEXT("/"));
        put(w, (struct power_text){base->path.bytes, keep});
    }
    put(w, reference->path);
    remove_dots(w, start);
}

struct power_text power_uri_join(struct power_arena *arena, struct power_text base_text,
                                 struct power_text reference_text) {
    if (!base_text.bytes) base_text = POWER_TEXT("");
    if (!reference_text.bytes) reference_text = POWER_TEXT("");
    struct uri base = split(base_text), reference = split(reference_text);
    struct writer w = {power_arena_alloc(arena, base_text.length + reference_text.length + 8, 1),
                       0};
    if (!w.bytes) return (struct power_text){0};
    const struct uri *head = reference.has_scheme ? &reference : &base;
    if (head->has_scheme) {
        put(&w, head->scheme);
        put(&w, POWER_TEXT(":"));
    }
    bool own = reference.has_scheme || reference.has_authority;
    head = own ? &reference : &base;
    if (head->has_authority) {
        put(&w, POWER_TEXT("//"));
        put(&w, head->authority);
    }
    head = &reference;
    if (own) {
        size_t start = w.n;
        put(&w, reference.path);
        remove_dots(&w, start);
    } else if (reference.path.length == 0) {
        put(&w, base.path);
        if (!reference.has_query) head = &base;
    } else {
        put_path(&w, &base, &reference);
    }
    if (head->has_query) {
        put(&w, POWER_TEXT("?"));
        put(&w, head->query);
    }
    if (reference.has_fragment) {
        put(&w, POWER_TEXT("#"));
        put(&w, reference.fragment);
    }
    return (struct power_text){w.bytes, w.n};
}
