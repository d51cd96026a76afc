/* SPDX-License-Identifier: MIT */
/* Job: text to ids: cuts at special tokens, normalises, splits, hands to the merge engine.
 * Input: text, options. Output: ids.
 * Threads: any (each call has its own work memory).
 * Bounds: time O(n log n), constant stack, work memory about 50 bytes a byte of the longest piece.
 */
#include "base/checked.h"
#include "text/split_class.h"
#include "text/vocab_internal.h"

#define MAX_TEXT_BYTES ((size_t)1 << 30)

static const char escaped_space[] = "\xE2\x96\x81"; /* U+2581 */

void power_sink_put(struct power_id_sink *sink, uint32_t id) {
    uint32_t skip = sink->skip_once;
    sink->skip_once = POWER_NO_TOKEN;
    if (id == skip && skip != POWER_NO_TOKEN) return;
    if (sink->count < sink->capacity) sink->ids[sink->count] = id;
    sink->count++;
    sink->last = id;
}

bool power_encode_fail(struct power_encode_work *work, power_status status, const char *what) {
    work->status = power_fail(work->error, status, "%s", what);
    return false;
}

static bool no_memory(struct power_encode_work *work, size_t bytes) {
    work->status = power_fail_memory(work->error, bytes, "tokenizing");
    return false;
}

bool power_encode_grow(struct power_encode_work *work, size_t symbols) {
    if (symbols <= work->n_symbols) return true;
    size_t capacity = work->n_symbols ? work->n_symbols : 256;
    while (capacity < symbols)
        capacity *= 2;
    const power_allocator *a = work->vocab->allocator;
    uint32_t *block = power_alloc(a, capacity, 4 * sizeof *block);
    if (!block) return no_memory(work, capacity * 4 * sizeof *block);
    power_release(a, work->symbols, work->n_symbols, 4 * sizeof *block);
    work->symbols = block;
    work->next = block + capacity;
    work->prev = block + 2 * capacity;
    work->lengths = block + 3 * capacity;
    work->n_symbols = capacity;
    return true;
}

static bool grow_heap(struct power_encode_work *work) {
    size_t capacity = work->heap_capacity ? work->heap_capacity * 2 : 256;
    const power_allocator *a = work->vocab->allocator;
    struct power_heap_entry *heap = power_alloc(a, capacity, sizeof *heap);
    if (!heap) return no_memory(work, capacity * sizeof *heap);
    if (work->heap_count) memcpy(heap, work->heap, work->heap_count * sizeof *heap);
    power_release(a, work->heap, work->heap_capacity, sizeof *heap);
    work->heap = heap;
    work->heap_capacity = capacity;
    return true;
}

bool power_heap_push(struct power_encode_work *work, struct power_heap_entry entry) {
    if (work->heap_count == work->heap_capacity && !grow_heap(work)) return false;
    size_t at = work->heap_count++;
    while (at > 0) {
        size_t parent = (at - 1) / 2;
        if (work->heap[parent].key <= entry.key) break;
        work->heap[at] = work->heap[parent];
        at = parent;
    }
    work->heap[at] = entry;
    return true;
}

bool power_heap_pop(struct power_encode_work *work, struct power_heap_entry *out) {
    if (work->heap_count == 0) return false;
    struct power_heap_entry *heap = work->heap;
    *out = heap[0];
    struct power_heap_entry moved = heap[--work->heap_count];
    size_t at = 0, n = work->heap_count;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= n) break;
        if (child + 1 < n && heap[child + 1].key < heap[child].key) child++;
        if (heap[child].key >= moved.key) break;
        heap[at] = heap[child];
        at = child;
    }
    if (n) heap[at] = moved;
    return true;
}

/* Copies `text` with its spaces escaped, the prefix in front; extra spaces dropped if asked. */
static bool escape(struct power_encode_work *work, struct power_text text, bool prefix) {
    struct power_buffer *out = &work->spaced;
    const bool extra = work->vocab->remove_extra_spaces;
    power_buffer_clear(out);
    size_t end = text.length, at = 0;
    while (extra && end > 0 && text.bytes[end - 1] == ' ')
        end--;
    while (extra && at < end && text.bytes[at] == ' ')
        at++;
    if (at == end) return true;
    size_t bytes = text.length; /* room for every space to become three bytes */
    for (size_t i = at; i < end; i++)
        bytes += text.bytes[i] == ' ' ? 2 : 0;
    if (!power_buffer_reserve(out, bytes + 3)) return no_memory(work, bytes);
    bool fits = !prefix || power_buffer_append(out, escaped_space, 3);
    while (fits && at < end) {
        const char *space = memchr(text.bytes + at, ' ', end - at);
        size_t run = space ? (size_t)(space - text.bytes) - at : end - at;
        fits = power_buffer_append(out, text.bytes + at, run);
        at += run;
        if (!fits || at == end) break;
        fits = power_buffer_append(out, escaped_space, 3);
        at++;
        while (extra && at < end && text.bytes[at] == ' ')
            at++;
    }
    return fits || no_memory(work, bytes);
}

/* Characters, cut before each escaped space where the vocabulary wants words apart. */
static bool encode_characters(struct power_encode_work *work, struct power_text text) {
    if (!work->vocab->split_spaces) return power_bpe_characters(work, text);
    size_t from = 0;
    for (size_t at = 1; at + 3 <= text.length; at++) {
        if (memcmp(text.bytes + at, escaped_space, 3) != 0) continue;
        if (!power_bpe_characters(work, (struct power_text){text.bytes + from, at - from}))
            return false;
        from = at;
    }
    return power_bpe_characters(work, (struct power_text){text.bytes + from, text.length - from});
}

static bool encode_escaped(struct power_encode_work *work, struct power_text text) {
    const struct power_vocab *vocab = work->vocab;
    bool prefix = vocab->info.add_space_prefix &&
                  (work->at_start || (work->after_special && !vocab->prefix_once));
    if (vocab->prefix_if_missing && text.bytes[0] == ' ') prefix = false;
    if (!vocab->escape_spaces)
        return vocab->kind == POWER_VOCAB_SPM ? power_spm_segment(work, text)
                                              : encode_characters(work, text);
    if (!escape(work, text, prefix)) return false;
    struct power_text spaced = {work->spaced.bytes, work->spaced.length};
    return vocab->kind == POWER_VOCAB_SPM ? power_spm_segment(work, spaced)
                                          : encode_characters(work, spaced);
}

static bool encode_bytes(struct power_encode_work *work, struct power_text text) {
    const struct power_vocab *vocab = work->vocab;
    struct power_text normal = text;
    if (vocab->nfc && !power_nfc(work, text, &normal)) return false;
    if (!vocab->info.add_space_prefix || normal.bytes[0] == ' ')
        return power_split(vocab->stages, normal, power_bpe_piece, work);
    power_buffer_clear(&work->spaced);
    if (!power_buffer_append(&work->spaced, " ", 1) ||
        !power_buffer_append(&work->spaced, normal.bytes, normal.length))
        return no_memory(work, normal.length + 1);
    normal = (struct power_text){work->spaced.bytes, work->spaced.length};
    return power_split(vocab->stages, normal, power_bpe_piece, work);
}

static bool encode_segment(struct power_encode_work *work, struct power_text text) {
    if (text.length == 0) return true;
    bool ok = work->vocab->kind == POWER_VOCAB_BYTE_BPE ? encode_bytes(work, text)
                                                        : encode_escaped(work, text);
    work->at_start = work->after_special = false;
    return ok;
}

static bool is_word(struct power_char c) {
    return c.length && (c.code == '_' || (c.class & (POWER_CLASS_L | POWER_CLASS_N)));
}

static size_t char_before(struct power_text text, size_t at) {
    do {
        at--;
    } while (at > 0 && ((unsigned char)text.bytes[at] & 0xC0) == 0x80);
    return at;
}

static bool stands_alone(struct power_text text, size_t at, size_t end) {
    if (at > 0 && is_word(power_char_at(text, char_before(text, at)))) return false;
    return !is_word(power_char_at(text, end));
}

static bool encode_segments(struct power_encode_work *work, struct power_text text) {
    const struct power_vocab *vocab = work->vocab;
    const bool controls = work->options->parse_special;
    const bool users = vocab->kind != POWER_VOCAB_SPM; /* SPM finds its own, after escaping */
    size_t rest = 0, at = 0;
    while (at < text.length) {
        const struct power_special *s =
            power_specials_match(&vocab->specials, text, work->options->plain, at, controls, users);
        if (!s || (s->single_word && !stands_alone(text, at, at + s->spelling.length))) {
            at++;
            continue;
        }
        size_t end = at, next = at + s->spelling.length;
        while (s->lstrip && end > rest &&
               (power_char_at(text, char_before(text, end)).class & POWER_CLASS_SPACE))
            end = char_before(text, end);
        while (s->rstrip && (power_char_at(text, next).class & POWER_CLASS_SPACE))
            next += power_char_at(text, next).length;
        if (!encode_segment(work, (struct power_text){text.bytes + rest, end - rest})) return false;
        power_sink_put(&work->sink, s->id);
        work->after_special = true;
        at = rest = next;
    }
    return encode_segment(work, (struct power_text){text.bytes + rest, text.length - rest});
}

static void encode_finish(struct power_encode_work *work) {
    const power_allocator *a = work->vocab->allocator;
    power_release(a, work->symbols, work->n_symbols, 4 * sizeof *work->symbols);
    power_release(a, work->heap, work->heap_capacity, sizeof *work->heap);
    power_buffer_finish(&work->normal);
    power_buffer_finish(&work->spaced);
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
    work.at_start = true;
    work.sink = (struct power_id_sink){ids, capacity, 0, POWER_NO_TOKEN, POWER_NO_TOKEN};
    power_buffer_init(&work.normal, vocab->allocator, text.length * 4 + 64);
    power_buffer_init(&work.spaced, vocab->allocator, text.length * 12 + 64);
    if (options->add_special && vocab->info.add_bos && vocab->info.bos != POWER_NO_TOKEN) {
        power_sink_put(&work.sink, vocab->info.bos);
        work.sink.skip_once = vocab->info.bos;
    }
    bool ok = encode_segments(&work, text);
    if (ok && options->add_special && vocab->info.add_eos && vocab->info.eos != POWER_NO_TOKEN &&
        work.sink.last != vocab->info.eos)
        power_sink_put(&work.sink, vocab->info.eos);
    encode_finish(&work);
    if (!ok) return work.status;
    *out_count = work.sink.count;
    if (work.sink.count > capacity && capacity + (size_t)(ids != NULL) > 0)
        return power_fail(error, POWER_LIMIT, "text has %zu tokens, room is for %zu",
                          work.sink.count, capacity);
    return work.sink.count > capacity
               ? power_fail(error, POWER_LIMIT, "text has %zu tokens", work.sink.count)
               : POWER_OK;
}
