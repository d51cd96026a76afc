/* SPDX-License-Identifier: MIT */
/* Job: Unicode normalisation form C. Input: valid UTF-8. Output: the normal form.
 * Threads: one per encode call. Bounds: linear time also for long runs of combining marks (they are
 * sorted by counting), memory of four times 4 bytes a code point. */
#include <utf8proc.h>

#include "text/utf8.h"
#include "text/vocab_internal.h"

/* Everything below U+0300 is in form C already and composes with nothing before it. */
static bool is_plain(struct power_text text) {
    for (size_t i = 0; i < text.length; i++) {
        if ((unsigned char)text.bytes[i] >= 0xCC) return false;
    }
    return true;
}

static unsigned char class_of(utf8proc_int32_t code) {
    return (unsigned char)utf8proc_get_property(code)->combining_class;
}

static void sort_short(utf8proc_int32_t *codes, size_t n) {
    for (size_t i = 1; i < n; i++) {
        utf8proc_int32_t code = codes[i];
        size_t at = i;
        for (; at > 0 && class_of(codes[at - 1]) > class_of(code); at--)
            codes[at] = codes[at - 1];
        codes[at] = code;
    }
}

/* Stable, by combining class; `spare` holds n codes. */
static void sort_long(utf8proc_int32_t *codes, size_t n, utf8proc_int32_t *spare) {
    size_t start[257] = {0};
    for (size_t i = 0; i < n; i++)
        start[class_of(codes[i]) + 1]++;
    for (size_t c = 0; c < 256; c++)
        start[c + 1] += start[c];
    for (size_t i = 0; i < n; i++)
        spare[start[class_of(codes[i])]++] = codes[i];
    memcpy(codes, spare, n * sizeof *codes);
}

static void order_marks(utf8proc_int32_t *codes, size_t n, utf8proc_int32_t *spare) {
    size_t at = 0;
    while (at < n) {
        size_t end = at;
        while (end < n && class_of(codes[end]) != 0)
            end++;
        if (end - at > 32)
            sort_long(codes + at, end - at, spare);
        else if (end - at > 1)
            sort_short(codes + at, end - at);
        at = end + 1;
    }
}

/* Code points of the canonical decomposition; `codes` has room for 4 a code point of the text (no
 * canonical decomposition is longer). */
static size_t decompose(struct power_text text, utf8proc_int32_t *codes, size_t room) {
    size_t n = 0;
    int boundary = 0;
    for (size_t at = 0, length; at < text.length; at += length) {
        uint32_t code = power_utf8_get(text, at, &length, NULL);
        utf8proc_ssize_t added =
            utf8proc_decompose_char((utf8proc_int32_t)code, codes + n, (utf8proc_ssize_t)(room - n),
                                    UTF8PROC_DECOMPOSE | UTF8PROC_STABLE, &boundary);
        if (added > 0 && (size_t)added <= room - n) n += (size_t)added;
    }
    return n;
}

bool power_nfc(struct power_encode_work *work, struct power_text text, struct power_text *out) {
    *out = text;
    if (is_plain(text)) return true;
    const power_allocator *a = work->vocab->allocator;
    size_t room = power_utf8_count(text) * 4 + 8;
    utf8proc_int32_t *codes = power_alloc(a, room, 2 * sizeof *codes);
    if (!codes) {
        work->status = power_fail_memory(work->error, room * 2 * sizeof *codes, "normalising");
        return false;
    }
    size_t n = decompose(text, codes, room);
    order_marks(codes, n, codes + room);
    utf8proc_ssize_t left =
        utf8proc_normalize_utf32(codes, (utf8proc_ssize_t)n, UTF8PROC_COMPOSE | UTF8PROC_STABLE);
    power_buffer_clear(&work->normal);
    bool ok = power_buffer_reserve(&work->normal, text.length * 3 + 8);
    for (utf8proc_ssize_t i = 0; ok && i < left; i++) {
        char bytes[4];
        size_t length = power_utf8_put((uint32_t)codes[i], bytes);
        ok = power_buffer_append(&work->normal, bytes, length);
    }
    power_release(a, codes, room, 2 * sizeof *codes);
    if (!ok) {
        work->status = power_fail_memory(work->error, text.length * 3, "normalising");
        return false;
    }
    *out = (struct power_text){work->normal.bytes, work->normal.length};
    return true;
}
