/* SPDX-License-Identifier: MIT */
/* Job: the work memory of an encode call, and where its ids go.
 * Input: ids, sizes. Output: ids and their places in the caller's arrays; grown memory.
 * Threads: one per encode call. Bounds: arrays double; the count goes on when the room is full. */
#include "text/vocab_internal.h"

void power_sink_put_at(struct power_id_sink *sink, uint32_t id, power_token_place span) {
    uint32_t skip = sink->skip_once;
    sink->skip_once = POWER_NO_TOKEN;
    if (id == skip && skip != POWER_NO_TOKEN) return;
    if (sink->count < sink->capacity) {
        sink->ids[sink->count] = id;
        if (sink->spans) sink->spans[sink->count] = span;
    }
    sink->count++;
    sink->last = id;
}

void power_sink_put_length(struct power_id_sink *sink, uint32_t id, size_t length) {
    power_token_place span = {0, 0};
    if (sink->spans && sink->view) {
        size_t left = sink->view->text.length - sink->at;
        if (length > left) length = left;
        span = power_view_span(sink->view, sink->at, length);
        sink->at += length;
    }
    power_sink_put_at(sink, id, span);
}

void power_sink_extend(struct power_id_sink *sink, size_t length) {
    if (!sink->spans || !sink->view) return;
    power_token_place more = power_view_span(sink->view, sink->at, length);
    sink->at += length;
    if (sink->count > 0 && sink->count <= sink->capacity)
        sink->spans[sink->count - 1].end = more.end;
}

/* Bytes of the view that a token stands for. */
static size_t token_length(const struct power_vocab *vocab, uint32_t id) {
    unsigned char type = vocab->types[id];
    if (type == POWER_TOKEN_BYTE) return 1;
    if (vocab->kind != POWER_VOCAB_BYTE_BPE) return vocab->spellings[id].length;
    return type == POWER_TOKEN_NORMAL ? vocab->pieces[id].length : 1; /* unknown: a byte each */
}

void power_sink_put(struct power_id_sink *sink, uint32_t id) {
    power_sink_put_length(sink, id, sink->spans ? token_length(sink->vocab, id) : 0);
}

bool power_encode_fail(struct power_encode_work *work, power_status status, const char *what) {
    work->status = power_fail(work->error, status, "%s", what);
    return false;
}

bool power_encode_no_memory(struct power_encode_work *work, size_t bytes) {
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
    if (!block) return power_encode_no_memory(work, capacity * 4 * sizeof *block);
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
    if (!heap) return power_encode_no_memory(work, capacity * sizeof *heap);
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
