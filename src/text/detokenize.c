/* SPDX-License-Identifier: MIT */
/* Job: ids to text as a stream that never cuts a character.
 * Input: ids. Output: whole UTF-8 sequences; what can't become valid is U+FFFD by the WHATWG rule.
 * Threads: one per stream. Bounds: at most three bytes are held back. */
#include "text/utf8.h"
#include "text/vocab_internal.h"

void power_detokenizer_init(struct power_detokenizer *d, const struct power_vocab *vocab,
                            bool show_special) {
    *d = (struct power_detokenizer){.vocab = vocab, .at_start = true, .show_special = show_special};
}

static power_status append(struct power_buffer *out, const void *bytes, size_t length,
                           power_error *error) {
    if (power_buffer_append(out, bytes, length)) return POWER_OK;
    if (length > out->max_bytes || out->length > out->max_bytes - length)
        return power_fail(error, POWER_LIMIT, "text is longer than %zu bytes", out->max_bytes);
    return power_fail_memory(error, length, "text");
}

/* Appends what of `text` is certain; sets *out_used to where an unfinished sequence begins. */
static power_status append_certain(struct power_text text, struct power_buffer *out,
                                   size_t *out_used, power_error *error) {
    size_t at = 0, good = 0; /* [good, at) is valid and not yet appended */
    power_status status = POWER_OK;
    while (status == POWER_OK && at < text.length) {
        size_t length;
        bool cut;
        if (power_utf8_get(text, at, &length, &cut) != POWER_UTF8_BROKEN) {
            at += length;
            continue;
        }
        if (cut) break;
        status = append(out, text.bytes + good, at - good, error);
        if (status == POWER_OK) status = append(out, "\xEF\xBF\xBD", 3, error);
        at += length;
        good = at;
    }
    if (status == POWER_OK && at > good) status = append(out, text.bytes + good, at - good, error);
    *out_used = at;
    return status;
}

void power_detokenizer_continue(struct power_detokenizer *d, uint32_t previous) {
    enum power_token_type type = power_vocab_token_type(d->vocab, previous);
    bool special = type == POWER_TOKEN_CONTROL ||
                   (type == POWER_TOKEN_USER_DEFINED && d->vocab->kind != POWER_VOCAB_SPM);
    d->at_start = previous == d->vocab->info.bos || (special && !d->vocab->prefix_once);
}

struct power_text power_detokenizer_next(struct power_detokenizer *d, uint32_t id) {
    enum power_token_type type = power_vocab_token_type(d->vocab, id);
    if (type == POWER_TOKEN_CONTROL && !d->show_special) return (struct power_text){0};
    struct power_text piece = power_vocab_piece(d->vocab, id);
    bool spaced = d->vocab->kind != POWER_VOCAB_BYTE_BPE && d->vocab->info.add_space_prefix;
    if (d->at_start && spaced && type != POWER_TOKEN_CONTROL && piece.length &&
        piece.bytes[0] == ' ') {
        piece.bytes++;
        piece.length--;
    }
    if (type != POWER_TOKEN_CONTROL) d->at_start = false;
    return piece;
}

power_status power_detokenizer_push_bytes(struct power_detokenizer *d, struct power_text piece,
                                          struct power_buffer *out, power_error *error) {
    size_t before = out->length, used = 0;
    char small[64];
    power_status status = POWER_OK;
    if (d->n_held) { /* join what was held with as much of the piece as can complete it */
        size_t room = sizeof small - d->n_held;
        size_t take = piece.length < room ? piece.length : room;
        memcpy(small, d->held, d->n_held);
        if (take) memcpy(small + d->n_held, piece.bytes, take);
        struct power_text joined = {small, d->n_held + take};
        status = append_certain(joined, out, &used, error);
        if (status == POWER_OK && used < d->n_held) { /* still not complete: the piece is used up */
            memcpy(d->held, small + used, joined.length - used);
            d->n_held = (uint32_t)(joined.length - used);
            return POWER_OK;
        }
        used -= status == POWER_OK ? d->n_held : used;
        if (used) piece.bytes += used;
        piece.length -= used;
    }
    if (status == POWER_OK) status = append_certain(piece, out, &used, error);
    if (status != POWER_OK) { /* nothing happened */
        out->length = before;
        return status;
    }
    d->n_held = (uint32_t)(piece.length - used);
    if (piece.bytes && d->n_held) memcpy(d->held, piece.bytes + used, d->n_held);
    return POWER_OK;
}

power_status power_detokenizer_push(struct power_detokenizer *d, uint32_t id,
                                    struct power_buffer *out, power_error *error) {
    return power_detokenizer_push_bytes(d, power_detokenizer_next(d, id), out, error);
}

power_status power_detokenizer_finish(struct power_detokenizer *d, struct power_buffer *out,
                                      power_error *error) {
    if (d->n_held == 0) return POWER_OK;
    power_status status = append(out, "\xEF\xBF\xBD", 3, error);
    if (status == POWER_OK) d->n_held = 0;
    return status;
}
