/* SPDX-License-Identifier: MIT */
/* Job: runs the steps of a normalizer over a text. Input: a view. Output: a view.
 * Threads: one per encode call.
 * Bounds: each step is linear; two scratch texts are used in turn, each bounded by the caller. */
#include "text/charset.h"
#include "text/utf8.h"
#include "text/vocab_internal.h"

#include <utf8proc.h>

bool power_scratch_put(struct power_encode_work *work, struct power_scratch *out,
                       struct power_text bytes, power_token_place from) {
    if (!power_buffer_append(&out->text, bytes.bytes, bytes.length))
        return power_encode_no_memory(work, bytes.length);
    if (!out->tracked) return true;
    for (size_t i = 0; i < bytes.length; i++) {
        if (!power_buffer_append(&out->from, &from, sizeof from))
            return power_encode_no_memory(work, sizeof from);
    }
    return true;
}

bool power_scratch_copy(struct power_encode_work *work, struct power_scratch *out,
                        const struct power_view *in, size_t at, size_t length) {
    if (length == 0) return true;
    if (!power_buffer_append(&out->text, in->text.bytes + at, length))
        return power_encode_no_memory(work, length);
    if (!out->tracked) return true;
    for (size_t i = at; i < at + length; i++) {
        power_token_place from = power_view_span(in, i, 1);
        if (!power_buffer_append(&out->from, &from, sizeof from))
            return power_encode_no_memory(work, sizeof from);
    }
    return true;
}

struct power_view power_scratch_view(const struct power_scratch *scratch) {
    /* the buffer's memory comes from the allocator: aligned for anything */
    const void *from = scratch->from.bytes;
    return (struct power_view){.text = {scratch->text.bytes, scratch->text.length},
                               .from = scratch->tracked ? from : NULL};
}

power_token_place power_view_span(const struct power_view *view, size_t at, size_t length) {
    if (!view->from)
        return (power_token_place){(uint32_t)(view->base + at),
                                   (uint32_t)(view->base + at + length)};
    if (view->text.length == 0) return (power_token_place){0, 0};
    if (length == 0) {
        uint32_t start = at < view->text.length ? view->from[at].start : view->from[at - 1].end;
        return (power_token_place){start, start};
    }
    power_token_place span = {view->from[at].start, view->from[at + length - 1].end};
    if (span.end < span.start) span.end = span.start;
    return span;
}

struct power_view power_view_slice(const struct power_view *view, size_t at, size_t length) {
    return (struct power_view){.text = {view->text.bytes + at, length},
                               .from = view->from ? view->from + at : NULL,
                               .base = view->base + at};
}

/* What one character becomes: up to three code points, or itself. */
struct change {
    bool same;
    unsigned n;
    uint32_t codes[3];
};

static struct change change_of(enum power_normal_kind kind, uint32_t code) {
    struct change c = {.same = true};
    switch (kind) {
    case POWER_NORMAL_LOWER:
        c.n = power_lower(code, c.codes);
        c.same = c.n == 1 && c.codes[0] == code;
        return c;
    case POWER_NORMAL_MARKS:
        c.same = !power_is_mark(code);
        return c;
    case POWER_NORMAL_BERT_ACCENTS:
        c.same = !power_is_bert_accent(code);
        return c;
    case POWER_NORMAL_BERT_CLEAN:
        if (power_is_bert_control(code)) return (struct change){.n = 0};
        return power_is_space(code) ? (struct change){.n = 1, .codes = {' '}} : c;
    case POWER_NORMAL_BERT_CJK:
        return power_is_bert_cjk(code) ? (struct change){.n = 3, .codes = {' ', code, ' '}} : c;
    case POWER_NORMAL_NMT:
        if ((code >= 1 && code <= 8) || code == 0xB || (code >= 0xE && code <= 0x1F) ||
            code == 0x7F || code == 0x8F || code == 0x9F)
            return (struct change){.n = 0};
        if (code == 9 || code == 0xA || code == 0xC || code == 0xD || code == 0x1680 ||
            (code >= 0x200B && code <= 0x200F) || code == 0x2028 || code == 0x2029 ||
            code == 0x2581 || code == 0xFEFF || code == 0xFFFD)
            return (struct change){.n = 1, .codes = {' '}};
        return c;
    case POWER_NORMAL_NFC:
    case POWER_NORMAL_NFD:
    case POWER_NORMAL_NFKC:
    case POWER_NORMAL_NFKD:
    case POWER_NORMAL_REPLACE:
    case POWER_NORMAL_SPACES:
    case POWER_NORMAL_PREPEND:
    case POWER_NORMAL_STRIP:
    case POWER_NORMAL_CHARSMAP:
        break;
    }
    return c;
}

static bool map_characters(struct power_encode_work *work, enum power_normal_kind kind,
                           const struct power_view *in, struct power_scratch *out) {
    size_t kept = 0, length;
    for (size_t at = 0; at < in->text.length; at += length) {
        struct change c = change_of(kind, power_utf8_get(in->text, at, &length, NULL));
        if (c.same) continue;
        if (!power_scratch_copy(work, out, in, kept, at - kept)) return false;
        kept = at + length;
        char bytes[12];
        size_t n = 0;
        for (unsigned i = 0; i < c.n; i++)
            n += power_utf8_put(c.codes[i], bytes + n);
        if (!power_scratch_put(work, out, (struct power_text){bytes, n},
                               power_view_span(in, at, length)))
            return false;
    }
    return power_scratch_copy(work, out, in, kept, in->text.length - kept);
}

bool power_replace(struct power_encode_work *work, const struct power_normal_step *step,
                   const struct power_view *in, struct power_scratch *out) {
    size_t kept = 0, at = 0;
    const struct power_text text = in->text, from = step->from;
    while (at < text.length) {
        const char *hit = memchr(text.bytes + at, from.bytes[0], text.length - at);
        if (!hit) break;
        at = (size_t)(hit - text.bytes);
        if (text.length - at < from.length || memcmp(hit, from.bytes, from.length) != 0) {
            at++;
            continue;
        }
        if (!power_scratch_copy(work, out, in, kept, at - kept) ||
            !power_scratch_put(work, out, step->to, power_view_span(in, at, from.length)))
            return false;
        at = kept = at + from.length;
    }
    return power_scratch_copy(work, out, in, kept, text.length - kept);
}

/* Length of the white space at `at`, 0 when there is none. */
static size_t space_at(struct power_text text, size_t at, bool any) {
    size_t length;
    if (at >= text.length) return 0;
    uint32_t code = power_utf8_get(text, at, &length, NULL);
    return (any ? power_is_space(code) : code == ' ') ? length : 0;
}

static bool replace_spaces(struct power_encode_work *work, const struct power_normal_step *step,
                           const struct power_view *in, struct power_scratch *out) {
    size_t kept = 0, at = 0;
    while (at < in->text.length) {
        size_t end = at, n;
        unsigned count = 0;
        for (; (n = space_at(in->text, end, step->any)) > 0; end += n)
            count++;
        if (count == 0 || count < step->least) {
            (void)power_utf8_get(in->text, at, &n, NULL);
            at = count ? end : at + n;
            continue;
        }
        if (!power_scratch_copy(work, out, in, kept, at - kept) ||
            !power_scratch_put(work, out, step->to, power_view_span(in, at, end - at)))
            return false;
        at = kept = end;
    }
    return power_scratch_copy(work, out, in, kept, in->text.length - kept);
}

static bool strip(struct power_encode_work *work, const struct power_normal_step *step,
                  const struct power_view *in, struct power_scratch *out) {
    size_t start = 0, end = in->text.length, n;
    while (step->left && (n = space_at(in->text, start, true)) > 0)
        start += n;
    while (step->right && end > start) {
        size_t last = power_utf8_before(in->text, end);
        if (!space_at(in->text, last, true)) break;
        end = last;
    }
    return power_scratch_copy(work, out, in, start, end - start);
}

static bool map_prefix(struct power_encode_work *work, const struct power_view *in, size_t at,
                       size_t length, struct power_scratch *out, bool *out_mapped) {
    struct power_text to, part = {in->text.bytes + at, length};
    *out_mapped = power_charsmap_find(&work->vocab->charsmap, part, false, &to) > 0;
    return !*out_mapped || power_scratch_put(work, out, to, power_view_span(in, at, length));
}

/* A grapheme of at most five bytes is looked up whole, else each of its characters; the shortest
 * key that it begins with counts, and replaces all of it: as the published tokenizers do. */
static bool map_grapheme(struct power_encode_work *work, const struct power_view *in, size_t at,
                         size_t end, struct power_scratch *out) {
    bool mapped = false;
    size_t length;
    if (end - at < 6 && !map_prefix(work, in, at, end - at, out, &mapped)) return false;
    for (; !mapped && at < end; at += length) {
        bool one;
        (void)power_utf8_get(in->text, at, &length, NULL);
        if (!map_prefix(work, in, at, length, out, &one)) return false;
        if (!one && !power_scratch_copy(work, out, in, at, length)) return false;
    }
    return true;
}

static bool precompiled(struct power_encode_work *work, const struct power_view *in,
                        struct power_scratch *out) {
    size_t start = 0, at = 0, length;
    utf8proc_int32_t state = 0, last = 0;
    for (; at < in->text.length; at += length) {
        utf8proc_int32_t code = (utf8proc_int32_t)power_utf8_get(in->text, at, &length, NULL);
        if (at > 0 && utf8proc_grapheme_break_stateful(last, code, &state)) {
            if (!map_grapheme(work, in, start, at, out)) return false;
            start = at;
        }
        last = code;
    }
    return start == at || map_grapheme(work, in, start, at, out);
}

/* False when the step cannot change the text: most texts pass most steps so. */
static bool may_change(const struct power_normal_step *step, struct power_text text) {
    unsigned char low = 0x80,
                  least = 0xFF; /* bytes below low (but spaces) or from least on count */
    switch (step->kind) {
    case POWER_NORMAL_NFC:
    case POWER_NORMAL_MARKS:
    case POWER_NORMAL_BERT_ACCENTS:
        least = 0xCC;
        low = 0;
        break;
    case POWER_NORMAL_NFD:
    case POWER_NORMAL_NFKC:
    case POWER_NORMAL_NFKD:
        least = 0xC2;
        low = 0;
        break;
    case POWER_NORMAL_BERT_CJK:
        least = 0xE3;
        low = 0;
        break;
    case POWER_NORMAL_BERT_CLEAN:
    case POWER_NORMAL_NMT:
        least = 0x7F;
        low = 0x20;
        break;
    case POWER_NORMAL_LOWER:
    case POWER_NORMAL_REPLACE:
    case POWER_NORMAL_SPACES:
    case POWER_NORMAL_PREPEND:
    case POWER_NORMAL_STRIP:
    case POWER_NORMAL_CHARSMAP:
        return true;
    }
    for (size_t i = 0; i < text.length; i++) {
        unsigned char c = (unsigned char)text.bytes[i];
        if (c < low || c >= least) return true;
    }
    return false;
}

static bool run_step(struct power_encode_work *work, const struct power_normal_step *step,
                     const struct power_view *in, struct power_scratch *out) {
    switch (step->kind) {
    case POWER_NORMAL_NFC:
    case POWER_NORMAL_NFD:
    case POWER_NORMAL_NFKC:
    case POWER_NORMAL_NFKD:
        return power_normal_form(work, step->kind, in, out);
    case POWER_NORMAL_REPLACE:
        return power_replace(work, step, in, out);
    case POWER_NORMAL_SPACES:
        return replace_spaces(work, step, in, out);
    case POWER_NORMAL_STRIP:
        return strip(work, step, in, out);
    case POWER_NORMAL_CHARSMAP:
        return precompiled(work, in, out);
    case POWER_NORMAL_PREPEND:
        return in->text.length == 0 ||
               (power_scratch_put(work, out, step->to, power_view_span(in, 0, 0)) &&
                power_scratch_copy(work, out, in, 0, in->text.length));
    case POWER_NORMAL_LOWER:
    case POWER_NORMAL_MARKS:
    case POWER_NORMAL_BERT_CLEAN:
    case POWER_NORMAL_BERT_CJK:
    case POWER_NORMAL_BERT_ACCENTS:
    case POWER_NORMAL_NMT:
        break;
    }
    return map_characters(work, step->kind, in, out);
}

bool power_normalise(struct power_encode_work *work, const struct power_normal_step *steps,
                     unsigned n_steps, const struct power_view *in, struct power_view *out) {
    unsigned turn = 0;
    *out = *in;
    for (unsigned i = 0; i < n_steps; i++) {
        if (!may_change(&steps[i], out->text)) continue;
        struct power_scratch *next = &work->scratch[turn];
        power_buffer_clear(&next->text);
        power_buffer_clear(&next->from);
        if (!run_step(work, &steps[i], out, next)) return false;
        *out = power_scratch_view(next);
        turn = 1 - turn;
    }
    return true;
}
