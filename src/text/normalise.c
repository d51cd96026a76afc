/* SPDX-License-Identifier: MIT */
/* Job: Unicode normalisation forms. Input: valid UTF-8. Output: the normal form.
 * Threads: one per encode call. Bounds: linear time also for long runs of combining marks (they are
 * sorted by counting), memory of 40 times 4 bytes a code point of the longest such run.
 * The text is worked on run by run: a run is a character with all that may combine with it. */
#include <utf8proc.h>

#include "text/charset.h"
#include "text/utf8.h"
#include "text/vocab_internal.h"

#define MOST_CANONICAL 4
#define MOST_COMPATIBLE 18

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

static bool is_compatible(enum power_normal_kind form) {
    return form == POWER_NORMAL_NFKC || form == POWER_NORMAL_NFKD;
}

static bool is_composed(enum power_normal_kind form) {
    return form == POWER_NORMAL_NFC || form == POWER_NORMAL_NFKC;
}

/* Code points of the decomposition; `codes` has room for the longest. */
static size_t decompose(struct power_text text, enum power_normal_kind form,
                        utf8proc_int32_t *codes, size_t room) {
    size_t n = 0;
    int boundary = 0;
    for (size_t at = 0, length; at < text.length; at += length) {
        uint32_t code = power_utf8_get(text, at, &length, NULL);
        bool compatible = is_compatible(form) && !power_is_young_compat(code);
        utf8proc_option_t options = UTF8PROC_DECOMPOSE | UTF8PROC_STABLE;
        if (compatible) options |= UTF8PROC_COMPAT;
        utf8proc_ssize_t added = utf8proc_decompose_char(
            (utf8proc_int32_t)code, codes + n, (utf8proc_ssize_t)(room - n), options, &boundary);
        if (added > 0 && (size_t)added <= room - n) n += (size_t)added;
    }
    return n;
}

/* A character that no form changes when nothing combines with it. */
static bool is_fixed(uint32_t code, enum power_normal_kind form) {
    if (code < 0x80) return true;
    if (code >= 0xAC00 && code <= 0xD7A3) return is_composed(form);
    return utf8proc_get_property((utf8proc_int32_t)code)->decomp_seqindex == UINT16_MAX;
}

static bool put_codes(struct power_encode_work *work, struct power_scratch *out,
                      const utf8proc_int32_t *codes, size_t n, power_token_place from) {
    for (size_t i = 0; i < n; i++) {
        char bytes[4];
        size_t length = power_utf8_put((uint32_t)codes[i], bytes);
        if (!power_scratch_put(work, out, (struct power_text){bytes, length}, from)) return false;
    }
    return true;
}

static bool put_run(struct power_encode_work *work, enum power_normal_kind form,
                    const struct power_view *in, size_t at, size_t end, struct power_scratch *out) {
    struct power_text run = {in->text.bytes + at, end - at};
    utf8proc_int32_t small[256], *codes = small;
    size_t most = is_compatible(form) ? MOST_COMPATIBLE : MOST_CANONICAL;
    size_t room = power_utf8_count(run) * most + 8; /* no overflow: at most 18 a byte of 1 GiB */
    bool large = room * 2 > sizeof small / sizeof *small;
    if (large) codes = power_alloc(work->vocab->allocator, room, 2 * sizeof *codes);
    if (!codes) return power_encode_no_memory(work, room * 2 * sizeof *codes);
    size_t n = decompose(run, form, codes, room);
    order_marks(codes, n, codes + room);
    if (is_composed(form)) {
        utf8proc_ssize_t left = utf8proc_normalize_utf32(codes, (utf8proc_ssize_t)n,
                                                         UTF8PROC_COMPOSE | UTF8PROC_STABLE);
        n = left > 0 ? (size_t)left : 0;
    }
    bool ok = put_codes(work, out, codes, n, power_view_span(in, at, end - at));
    if (large) power_release(work->vocab->allocator, codes, room, 2 * sizeof *codes);
    return ok;
}

/* End of the run that begins with the character at `at`. */
static size_t run_end(struct power_text text, size_t at, bool compatible, uint32_t *out_code,
                      bool *out_single) {
    size_t length;
    *out_code = power_utf8_get(text, at, &length, NULL);
    size_t end = at + length;
    *out_single = true;
    while (end < text.length && (unsigned char)text.bytes[end] >= 0xCC) {
        if (!power_is_combining(power_utf8_get(text, end, &length, NULL), compatible)) break;
        *out_single = false;
        end += length;
    }
    return end;
}

bool power_normal_form(struct power_encode_work *work, enum power_normal_kind form,
                       const struct power_view *in, struct power_scratch *out) {
    struct power_text text = in->text;
    size_t kept = 0, at = 0; /* [kept, at) goes over as it is */
    while (at < text.length) {
        uint32_t code;
        bool single;
        size_t end = run_end(text, at, is_compatible(form), &code, &single);
        if (!single || !is_fixed(code, form)) {
            if (!power_scratch_copy(work, out, in, kept, at - kept) ||
                !put_run(work, form, in, at, end, out))
                return false;
            kept = end;
        }
        at = end;
    }
    return power_scratch_copy(work, out, in, kept, at - kept);
}
