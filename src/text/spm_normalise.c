/* SPDX-License-Identifier: MIT */
/* Job: the text as SentencePiece models see it: characters mapped, spaces escaped, a prefix.
 * Input: a segment. Output: a scratch text with places.
 * Threads: one per encode call.
 * Bounds: linear; a map's replacement is as long as the file says, the scratch text is bounded.
 * Source: the sentencepiece library's published behaviour. User-defined pieces are not mapped. */
#include "text/utf8.h"
#include "text/vocab_internal.h"

static const char escaped_space[] = "\xE2\x96\x81"; /* U+2581 */

/* What comes next: `length` bytes of the input, which become `text` (`same`: they stay). */
struct part {
    size_t length;
    struct power_text text;
    bool same;
};

static struct part next_part(const struct power_vocab *vocab, struct power_text text, size_t at) {
    struct power_text rest = {text.bytes + at, text.length - at};
    struct part p = {.same = true};
    if (!vocab->charsmap.units) { /* all up to the next space, or a space */
        const char *space = memchr(rest.bytes, ' ', rest.length);
        p.length = !space ? rest.length : space == rest.bytes ? 1 : (size_t)(space - rest.bytes);
    } else {
        const struct power_special *user =
            power_specials_match(&vocab->specials, text, NULL, at, false, true);
        if (user) {
            p.length = user->spelling.length;
        } else if ((p.length = power_charsmap_find(&vocab->charsmap, rest, true, &p.text)) > 0) {
            p.same = false;
            return p;
        } else {
            (void)power_utf8_get(text, at, &p.length, NULL);
        }
    }
    p.text = (struct power_text){rest.bytes, p.length};
    return p;
}

/* The part's text from byte `skip` on, spaces escaped where the vocabulary wants them so. */
static bool put_part(struct power_encode_work *work, const struct power_view *in, size_t at,
                     const struct part *p, size_t skip, struct power_scratch *out) {
    const struct power_text space = {escaped_space, 3};
    for (size_t i = skip; i < p->text.length;) {
        const char *from = p->text.bytes + i;
        const char *hit = work->vocab->escape_spaces ? memchr(from, ' ', p->text.length - i) : NULL;
        size_t run = hit ? (size_t)(hit - from) : p->text.length - i;
        power_token_place all = power_view_span(in, at, p->length);
        bool ok = p->same ? power_scratch_copy(work, out, in, at + i, run)
                          : power_scratch_put(work, out, (struct power_text){from, run}, all);
        i += run;
        if (!ok) return false;
        if (!hit) break;
        if (!power_scratch_put(work, out, space, p->same ? power_view_span(in, at + i, 1) : all))
            return false;
        i++;
    }
    return true;
}

static void drop_last_spaces(const struct power_vocab *vocab, struct power_scratch *out) {
    const char *space = vocab->escape_spaces ? escaped_space : " ";
    size_t n = strlen(space), end = out->text.length;
    while (end >= n && memcmp(out->text.bytes + end - n, space, n) == 0)
        end -= n;
    out->text.length = end;
    if (out->tracked) out->from.length = end * sizeof(power_token_place);
}

bool power_spm_normalise(struct power_encode_work *work, const struct power_view *in, bool prefix,
                         struct power_scratch *out) {
    const struct power_vocab *vocab = work->vocab;
    const bool extra = vocab->remove_extra_spaces;
    bool after_space = extra, begun = false;
    power_buffer_clear(&out->text);
    power_buffer_clear(&out->from);
    for (size_t at = 0; at < in->text.length;) {
        struct part p = next_part(vocab, in->text, at);
        size_t skip = 0;
        while (after_space && skip < p.text.length && p.text.bytes[skip] == ' ')
            skip++;
        bool leading = extra && !begun && p.text.length == 1 && p.text.bytes[0] == ' ';
        if (!begun && !leading) {
            begun = true;
            struct power_text mark =
                vocab->escape_spaces ? (struct power_text){escaped_space, 3} : POWER_TEXT(" ");
            if (prefix && !power_scratch_put(work, out, mark, power_view_span(in, at, 0)))
                return false;
        }
        if (skip < p.text.length) {
            if (!put_part(work, in, at, &p, skip, out)) return false;
            after_space = extra && p.text.bytes[p.text.length - 1] == ' ';
        }
        at += p.length;
    }
    if (extra) drop_last_spaces(vocab, out);
    return true;
}
