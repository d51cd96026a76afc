/* SPDX-License-Identifier: MIT */
/* Job: which bytes of a text the template or the model wrote, and which came with the request.
 * Input: texts, told apart by where they lie. Output: one byte of origin for each byte of text.
 * Threads: one per rendering.
 * Bounds: a byte more for each byte of text while origins are kept; a lookup visits at most some
 * twenty sheets, because each is twice as large as the one before.
 * A text lies in the template's own arena (trusted), on a sheet, whose second half tells the origin
 * byte by byte, or elsewhere (given). So a slice needs no bookkeeping, and what a new function
 * forgets to carry counts as given. */
#include "text/jinja.h"

#define FIRST_SHEET ((size_t)4096)

struct jinja_sheet {
    struct jinja_sheet *next;
    size_t size, used;
    char *bytes;
    unsigned char *origins;
};

static bool lies_in(const char *start, size_t size, const char *at) {
    return (uintptr_t)at >= (uintptr_t)start && (uintptr_t)at < (uintptr_t)start + size;
}

void power_jinja_origins(const struct jinja_render *r, struct power_text text, unsigned char *out) {
    for (const struct jinja_sheet *s = r->sheets; s && text.length; s = s->next) {
        if (!lies_in(s->bytes, s->size, text.bytes)) continue;
        memcpy(out, s->origins + (text.bytes - s->bytes), text.length);
        return;
    }
    bool own = text.length && power_arena_holds(r->template_arena, text.bytes);
    if (text.length) memset(out, own ? JINJA_OWN : JINJA_GIVEN, text.length);
}

static struct jinja_sheet *new_sheet(struct jinja_render *r, size_t bytes) {
    size_t size = r->sheets ? r->sheets->size * 2 : FIRST_SHEET;
    if (size < bytes) size = bytes;
    struct jinja_sheet *s = power_arena_alloc(&r->arena, 1, sizeof *s);
    if (s) s->bytes = power_arena_alloc(&r->arena, size, 2);
    if (!s || !s->bytes) return NULL;
    s->origins = (unsigned char *)s->bytes + size;
    s->size = size;
    s->next = r->sheets;
    r->sheets = s;
    return s;
}

char *power_jinja_text_room(struct jinja_render *r, size_t length, unsigned char **out_origins) {
    struct jinja_sheet *s = r->sheets;
    *out_origins = NULL;
    if (length == SIZE_MAX) return NULL;
    if (!r->keeps_origins) return power_arena_alloc(&r->arena, length + 1, 1);
    if (!s || length >= s->size - s->used) s = new_sheet(r, length + 1);
    if (!s) return NULL;
    char *at = s->bytes + s->used;
    *out_origins = s->origins + s->used;
    s->used += length + 1;
    return at;
}

bool power_jinja_copy_own(struct jinja_render *r, struct power_text text, struct jinja_value *out) {
    unsigned char *origins;
    char *copy = power_jinja_text_room(r, text.length, &origins);
    if (!copy) return power_jinja_no_memory(r);
    if (text.length) memcpy(copy, text.bytes, text.length);
    if (origins && text.length) memset(origins, JINJA_OWN, text.length);
    *out = power_jinja_borrow((struct power_text){copy, text.length});
    return true;
}

/* ---- buffers ---- */

void power_jinja_scratch(struct jinja_render *r, struct jinja_buffer *out) {
    power_buffer_init(&out->text, r->arena.allocator, r->max_output_bytes + 64);
    power_buffer_init(&out->origins, r->arena.allocator, r->max_output_bytes + 64);
}

void power_jinja_drop(struct jinja_buffer *buffer) {
    power_buffer_finish(&buffer->text);
    power_buffer_finish(&buffer->origins);
}

/* Room for `length` bytes more in both; the origins' place, NULL where none are kept. */
static bool reserve(struct jinja_render *r, struct jinja_buffer *out, size_t length,
                    unsigned char **out_origins) {
    *out_origins = NULL;
    size_t bytes = r->loose_bytes + length; /* no overflow: both lie in memory */
    r->loose_bytes = bytes % 64;
    if (!power_jinja_steps(r, bytes / 64)) return false;
    if (length > r->max_output_bytes || out->text.length > r->max_output_bytes - length)
        return power_jinja_raise(r, POWER_LIMIT, "text is longer than %zu bytes",
                                 r->max_output_bytes);
    if (!r->keeps_origins) return true;
    if (!power_buffer_reserve(&out->origins, length)) return power_jinja_no_memory(r);
    *out_origins = (unsigned char *)out->origins.bytes + out->origins.length;
    return true;
}

static bool append(struct jinja_render *r, struct jinja_buffer *out, struct power_text text) {
    if (!power_buffer_append(&out->text, text.bytes, text.length)) return power_jinja_no_memory(r);
    if (r->keeps_origins) out->origins.length += text.length;
    return true;
}

bool power_jinja_put(struct jinja_render *r, struct jinja_buffer *out, struct power_text text) {
    unsigned char *origins;
    if (!reserve(r, out, text.length, &origins)) return false;
    if (origins) power_jinja_origins(r, text, origins);
    return append(r, out, text);
}

bool power_jinja_put_like(struct jinja_render *r, struct jinja_buffer *out, struct power_text text,
                          struct power_text from) {
    unsigned char *origins, one, worst = JINJA_OWN;
    if (!reserve(r, out, text.length, &origins)) return false;
    for (size_t i = 0; origins && i < from.length; i++) {
        power_jinja_origins(r, (struct power_text){from.bytes + i, 1}, &one);
        if (one != JINJA_OWN) worst = one;
    }
    if (origins && text.length) memset(origins, worst, text.length);
    return append(r, out, text);
}

bool power_jinja_finish_text(struct jinja_render *r, struct jinja_buffer *buffer, bool ok,
                             struct jinja_value *out) {
    unsigned char *origins;
    size_t length = buffer->text.length;
    char *copy = ok ? power_jinja_text_room(r, length, &origins) : NULL;
    if (ok && !copy) ok = power_jinja_no_memory(r);
    if (ok && length) {
        memcpy(copy, buffer->text.bytes, length);
        if (origins) memcpy(origins, buffer->origins.bytes, length);
    }
    if (ok) *out = power_jinja_borrow((struct power_text){copy, length});
    power_jinja_drop(buffer);
    return ok;
}
