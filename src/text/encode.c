/* SPDX-License-Identifier: MIT */
/* Job: text to ids: cuts at special tokens, normalises, splits, hands to the model.
 * Input: text, options. Output: ids, and where each came from.
 * Threads: any (each call has its own work memory).
 * Bounds: time O(n log n), constant stack, work memory about 50 bytes a byte of the longest piece.
 */
#include "text/charset.h"
#include "text/split_class.h"
#include "text/vocab_internal.h"

#define MAX_TEXT_BYTES ((size_t)1 << 30)

/* A piece between stages; a run of newlines that is a token is that token. */
static bool character_piece(void *context, struct power_text piece) {
    struct power_encode_work *work = context;
    const struct power_vocab *vocab = work->vocab;
    uint32_t id;
    if (vocab->whole_lines && piece.bytes[0] == '\n' &&
        power_index_find(vocab->index, piece, &id) &&
        (vocab->types[id] == POWER_TOKEN_NORMAL || vocab->types[id] == POWER_TOKEN_USER_DEFINED)) {
        power_sink_put(&work->sink, id);
        return true;
    }
    return power_bpe_characters(work, piece);
}

static bool encode_characters(struct power_encode_work *work, struct power_text text) {
    if (work->vocab->stages[0].kind != POWER_SPLIT_NONE)
        return power_split(work->vocab->stages, text, character_piece, work);
    return power_bpe_characters(work, text);
}

bool power_encode_piece(struct power_encode_work *work, const struct power_view *piece) {
    work->sink.view = piece;
    work->sink.at = 0;
    switch (work->vocab->kind) {
    case POWER_VOCAB_BYTE_BPE:
        return power_bpe_piece(work, piece->text);
    case POWER_VOCAB_CHAR_BPE:
        return encode_characters(work, piece->text);
    case POWER_VOCAB_SPM:
        return power_spm_segment(work, piece->text);
    case POWER_VOCAB_WORDPIECE:
        return power_wordpiece_word(work, piece->text);
    case POWER_VOCAB_UNIGRAM:
        return power_unigram_piece(work, piece->text);
    }
    return true;
}

/* Spaces escaped, a prefix in front, then all at once. */
static bool encode_escaped(struct power_encode_work *work, const struct power_view *view) {
    const struct power_vocab *vocab = work->vocab;
    bool prefix = vocab->info.add_space_prefix &&
                  (work->at_start || (work->after_special && !vocab->prefix_once));
    if (!power_spm_normalise(work, view, prefix, &work->scratch[0])) return false;
    struct power_view spaced = power_scratch_view(&work->scratch[0]);
    return spaced.text.length == 0 || power_encode_piece(work, &spaced);
}

/* Normalised, then split by the stages that the pre-tokenizer's name stands for. */
static bool encode_bytes(struct power_encode_work *work, const struct power_view *view) {
    const struct power_vocab *vocab = work->vocab;
    struct power_view normal;
    if (!power_normalise(work, vocab->normal, vocab->n_normal, view, &normal)) return false;
    if (normal.text.length == 0) return true;
    if (vocab->info.add_space_prefix && normal.text.bytes[0] != ' ') {
        struct power_scratch *out = &work->prefixed;
        power_buffer_clear(&out->text);
        power_buffer_clear(&out->from);
        if (!power_scratch_put(work, out, POWER_TEXT(" "), power_view_span(&normal, 0, 0)) ||
            !power_scratch_copy(work, out, &normal, 0, normal.text.length))
            return false;
        normal = power_scratch_view(out);
    }
    work->sink.view = &normal;
    work->sink.at = 0;
    return power_split(vocab->stages, normal.text, power_bpe_piece, work);
}

static bool word_at(struct power_text text, size_t at) {
    size_t length;
    return at < text.length && power_is_word(power_utf8_get(text, at, &length, NULL));
}

static bool stands_alone(struct power_text text, size_t at, size_t end) {
    return !(at > 0 && word_at(text, power_utf8_before(text, at))) && !word_at(text, end);
}

/* Specials of a set in a view, and what is between them. */
struct cutter {
    const struct power_special_set *set;
    const struct power_view *view;
    const unsigned char *plain; /* one a byte of the view, or NULL */
    bool controls, users;
    bool (*between)(struct power_encode_work *work, const struct power_view *view);
};

static bool cut_between(struct power_encode_work *work, const struct cutter *c, size_t at,
                        size_t end) {
    if (at >= end) return true;
    struct power_view part = power_view_slice(c->view, at, end - at);
    return c->between(work, &part);
}

static bool cut_at_specials(struct power_encode_work *work, const struct cutter *c) {
    const struct power_text text = c->view->text;
    size_t rest = 0, at = 0;
    while (at < text.length && c->set->count > 0) {
        const struct power_special *s =
            power_specials_match(c->set, text, c->plain, at, c->controls, c->users);
        if (!s || (s->single_word && !stands_alone(text, at, at + s->spelling.length))) {
            at += s ? s->spelling.length : 1;
            continue;
        }
        size_t end = at, next = at + s->spelling.length;
        while (s->lstrip && end > rest &&
               (power_char_at(text, power_utf8_before(text, end)).class & POWER_CLASS_SPACE))
            end = power_utf8_before(text, end);
        while (s->rstrip && (power_char_at(text, next).class & POWER_CLASS_SPACE))
            next += power_char_at(text, next).length;
        if (!cut_between(work, c, rest, end)) return false;
        power_sink_put_at(&work->sink, s->id, power_view_span(c->view, end, next - end));
        work->after_special = true;
        at = rest = next;
    }
    return cut_between(work, c, rest, text.length);
}

/* What the caller called plain, told for the bytes of a normalised view. */
static bool plain_of_view(struct power_encode_work *work, const struct power_view *view,
                          const unsigned char **out) {
    const unsigned char *plain = work->options->plain;
    *out = NULL;
    if (!plain) return true;
    power_buffer_clear(&work->plain);
    for (size_t i = 0; i < view->text.length; i++) {
        power_token_place span = power_view_span(view, i, 1);
        unsigned char any = 0;
        for (uint32_t at = span.start; at < span.end; at++)
            any |= plain[at];
        if (!power_buffer_append(&work->plain, &any, 1)) return power_encode_no_memory(work, 1);
    }
    *out = (const unsigned char *)work->plain.bytes;
    return true;
}

/* As tokenizer.json describes: normalise, cut at the tokens that are looked for after that,
 * pre-tokenize. */
static bool encode_piped(struct power_encode_work *work, const struct power_view *view) {
    const struct power_vocab *vocab = work->vocab;
    struct power_view normal;
    if (!power_normalise(work, vocab->normal, vocab->n_normal, view, &normal)) return false;
    struct cutter c = {.set = &vocab->normal_specials,
                       .view = &normal,
                       .controls = work->options->parse_special,
                       .users = true,
                       .between = power_pretokenize};
    if (c.set->count > 0 && !plain_of_view(work, &normal, &c.plain)) return false;
    return cut_at_specials(work, &c);
}

static bool encode_segment(struct power_encode_work *work, const struct power_view *view) {
    const struct power_vocab *vocab = work->vocab;
    bool ok = vocab->piped                          ? encode_piped(work, view)
              : vocab->kind == POWER_VOCAB_BYTE_BPE ? encode_bytes(work, view)
                                                    : encode_escaped(work, view);
    work->at_start = work->after_special = false;
    work->sink.view = NULL;
    return ok;
}

static bool encode_text(struct power_encode_work *work, struct power_text text) {
    const struct power_vocab *vocab = work->vocab;
    struct power_view view = {.text = text};
    /* SentencePiece's models find their own user-defined pieces, after escaping */
    bool own =
        !vocab->piped && (vocab->kind == POWER_VOCAB_SPM || vocab->kind == POWER_VOCAB_UNIGRAM);
    struct cutter c = {.set = &vocab->specials,
                       .view = &view,
                       .plain = work->options->plain,
                       .controls = work->options->parse_special,
                       .users = !own,
                       .between = encode_segment};
    return cut_at_specials(work, &c);
}

/* What the vocabulary puts around a text. A single token is not repeated where the text has it
 * already (chat templates often write it). */
static void put_front(struct power_encode_work *work) {
    const struct power_vocab *vocab = work->vocab;
    const power_token_place none = {0, 0};
    if (!work->options->add_special || !vocab->info.add_bos) return;
    for (uint32_t i = 0; i < vocab->n_front; i++)
        power_sink_put_at(&work->sink, vocab->front[i], none);
    if (vocab->n_front == 1 && vocab->kind != POWER_VOCAB_WORDPIECE)
        work->sink.skip_once = vocab->front[0];
}

static void put_back(struct power_encode_work *work, size_t bytes) {
    const struct power_vocab *vocab = work->vocab;
    const power_token_place end = {(uint32_t)bytes, (uint32_t)bytes};
    if (!work->options->add_special || !vocab->info.add_eos) return;
    bool once = vocab->n_back == 1 && vocab->kind != POWER_VOCAB_WORDPIECE;
    if (once && work->sink.last == vocab->back[0]) return;
    for (uint32_t i = 0; i < vocab->n_back; i++)
        power_sink_put_at(&work->sink, vocab->back[i], end);
}

static void scratch_init(struct power_scratch *scratch, const power_allocator *allocator,
                         size_t bytes, bool tracked) {
    scratch->tracked = tracked;
    power_buffer_init(&scratch->text, allocator, bytes);
    power_buffer_init(&scratch->from, allocator, bytes * sizeof(power_token_place));
}

static void work_init(struct power_encode_work *work, size_t bytes) {
    const struct power_vocab *vocab = work->vocab;
    bool specials = work->options->plain && vocab->normal_specials.count > 0;
    bool tracked = work->sink.spans || vocab->needs_places || specials;
    size_t most = bytes * vocab->most_growth + 64; /* no overflow: 1 GiB times a small factor */
    work->at_start = true;
    work->text_bytes = bytes;
    for (size_t i = 0; i < 2; i++)
        scratch_init(&work->scratch[i], vocab->allocator, most, tracked);
    scratch_init(&work->prefixed, vocab->allocator, most * 3, tracked);
    power_buffer_init(&work->plain, vocab->allocator, most);
}

static void work_finish(struct power_encode_work *work) {
    const power_allocator *a = work->vocab->allocator;
    power_release(a, work->symbols, work->n_symbols, 4 * sizeof *work->symbols);
    power_release(a, work->heap, work->heap_capacity, sizeof *work->heap);
    power_release(a, work->sums, work->n_sums, sizeof *work->sums);
    power_release(a, work->memory, work->n_memory, sizeof *work->memory);
    for (size_t i = 0; i < 2; i++) {
        power_buffer_finish(&work->scratch[i].text);
        power_buffer_finish(&work->scratch[i].from);
    }
    power_buffer_finish(&work->prefixed.text);
    power_buffer_finish(&work->prefixed.from);
    power_buffer_finish(&work->plain);
}

power_status power_vocab_encode(const struct power_vocab *vocab, struct power_text text,
                                const struct power_tokenize_options *options, uint32_t *ids,
                                size_t capacity, size_t *out_count, power_error *error) {
    size_t broken = power_utf8_check(text);
    if (broken < text.length)
        return power_fail_at(error, POWER_INVALID, broken, "text is not UTF-8 at byte %zu", broken);
    if (text.length > MAX_TEXT_BYTES)
        return power_fail(error, POWER_LIMIT, "text of %zu bytes is longer than %zu", text.length,
                          MAX_TEXT_BYTES);
    struct power_encode_work work = {.vocab = vocab, .options = options, .error = error};
    work.sink = (struct power_id_sink){.vocab = vocab,
                                       .ids = ids,
                                       .spans = options->spans,
                                       .capacity = capacity,
                                       .skip_once = POWER_NO_TOKEN,
                                       .last = POWER_NO_TOKEN};
    work_init(&work, text.length);
    put_front(&work);
    bool ok = encode_text(&work, text);
    if (ok) put_back(&work, text.length);
    work_finish(&work);
    if (!ok) return work.status;
    *out_count = work.sink.count;
    if (work.sink.count > capacity && capacity + (size_t)(ids != NULL) > 0)
        return power_fail(error, POWER_LIMIT, "text has %zu tokens, room is for %zu",
                          work.sink.count, capacity);
    return work.sink.count > capacity
               ? power_fail(error, POWER_LIMIT, "text has %zu tokens", work.sink.count)
               : POWER_OK;
}
