/* SPDX-License-Identifier: MIT */
/* Job: work memory, budgets, interning and sorting of the operations on automata.
 * Input: sizes. Output: memory, or the operation's first fault.
 * Threads: one an operation. Bounds: REGULAR_WORK_BYTES and REGULAR_STEPS an operation; sorting
 * takes constant memory and at most n log n steps on any input. */
#include <stdarg.h>
#include <stdio.h>

#include "base/checked.h"
#include "text/constraint/regular_internal.h"

void power_regular_begin(struct regular_work *w, const struct power_regular_space *space,
                         power_error *error) {
    *w = (struct regular_work){.space = space,
                               .max_states =
                                   space->max_states ? space->max_states : REGULAR_DEFAULT_STATES,
                               .steps_left = REGULAR_STEPS,
                               .error = error};
    power_arena_init(&w->arena, space->arena->allocator, REGULAR_WORK_BYTES);
}

power_status power_regular_end(struct regular_work *w) {
    power_arena_finish(&w->arena);
    return w->status;
}

bool power_regular_fault(struct regular_work *w, power_status status, const char *format, ...) {
    if (w->status != POWER_OK) return false; /* the first fault counts */
    char text[200];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    w->status = power_fail(w->error, status, "%s", text);
    return false;
}

bool power_regular_too_large(struct regular_work *w) {
    return power_regular_fault(w, POWER_LIMIT, "automaton takes more than %u states",
                               w->max_states);
}

bool power_regular_steps(struct regular_work *w, uint64_t n) {
    if (n <= w->steps_left) {
        w->steps_left -= n;
        return true;
    }
    w->steps_left = 0;
    return power_regular_fault(w, POWER_LIMIT, "automaton takes more than %llu steps to make",
                               (unsigned long long)REGULAR_STEPS);
}

void *power_regular_alloc(struct regular_work *w, size_t count, size_t size) {
    size_t bytes, total;
    if (w->status != POWER_OK) return NULL;
    void *memory = power_arena_alloc(&w->arena, count, size);
    if (memory) return memory;
    if (!power_mul_size(count, size, &bytes) ||
        !power_add_size(bytes, w->arena.used_bytes + 64, &total) || total > w->arena.max_bytes)
        power_regular_fault(w, POWER_LIMIT, "automaton takes more than %zu bytes to make",
                            w->arena.max_bytes);
    else
        power_regular_fault(w, POWER_NO_MEMORY, "no memory for %zu bytes of an automaton", bytes);
    return NULL;
}

bool power_regular_room(struct regular_work *w, struct regular_list *list, size_t more,
                        size_t item_bytes) {
    if (w->status != POWER_OK) return false;
    if (more <= list->capacity - list->count) return true;
    size_t need, capacity = list->capacity ? list->capacity : 16;
    if (!power_add_size(list->count, more, &need)) need = SIZE_MAX;
    while (capacity < need) {
        if (!power_mul_size(capacity, 2, &capacity)) capacity = SIZE_MAX;
    }
    void *items = power_regular_alloc(w, capacity, item_bytes);
    if (!items) return false;
    if (list->count) memcpy(items, list->items, list->count * item_bytes);
    list->items = items;
    list->capacity = capacity;
    return true;
}

bool power_regular_push_u32(struct regular_work *w, struct regular_list *list, uint32_t value) {
    if (!power_regular_room(w, list, 1, sizeof value)) return false;
    ((uint32_t *)list->items)[list->count++] = value;
    return true;
}

uint64_t power_regular_mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ hash >> 29;
}

/* ---- interning ---- */

struct entry {
    size_t offset, length;
    uint64_t hash;
};

static bool grow_slots(struct regular_work *w, struct regular_interner *in) {
    if (in->entries.count * 2 < in->n_slots) return true;
    size_t n_slots = in->n_slots ? in->n_slots * 2 : 64;
    uint32_t *slots = power_regular_alloc(w, n_slots, sizeof *slots);
    if (!slots) return false;
    for (size_t i = 0; i < in->entries.count; i++) {
        size_t slot = (size_t)((struct entry *)in->entries.items)[i].hash & (n_slots - 1);
        while (slots[slot])
            slot = (slot + 1) & (n_slots - 1);
        slots[slot] = (uint32_t)i + 1;
    }
    in->slots = slots;
    in->n_slots = n_slots;
    return true;
}

uint32_t power_regular_intern(struct regular_work *w, struct regular_interner *in,
                              const uint32_t *words, size_t n) {
    uint64_t hash = n;
    for (size_t i = 0; i < n; i++)
        hash = power_regular_mix(hash, words[i]);
    if (!grow_slots(w, in) || !power_regular_steps(w, n + 1)) return REGULAR_NONE;
    size_t slot = (size_t)hash & (in->n_slots - 1);
    for (; in->slots[slot]; slot = (slot + 1) & (in->n_slots - 1)) {
        const struct entry *entry = (struct entry *)in->entries.items + (in->slots[slot] - 1);
        if (entry->hash == hash && entry->length == n &&
            memcmp((uint32_t *)in->words.items + entry->offset, words, n * sizeof *words) == 0)
            return in->slots[slot] - 1;
        if (!power_regular_steps(w, 1)) return REGULAR_NONE;
    }
    if (!power_regular_room(w, &in->words, n + 1, sizeof *words) ||
        !power_regular_room(w, &in->entries, 1, sizeof(struct entry)))
        return REGULAR_NONE;
    if (n) memcpy((uint32_t *)in->words.items + in->words.count, words, n * sizeof *words);
    ((struct entry *)in->entries.items)[in->entries.count++] =
        (struct entry){in->words.count, n, hash};
    in->words.count += n;
    in->slots[slot] = (uint32_t)in->entries.count;
    return (uint32_t)in->entries.count - 1;
}

const uint32_t *power_regular_interned(const struct regular_interner *in, uint32_t number,
                                       size_t *out_length) {
    const struct entry *entry = (struct entry *)in->entries.items + number;
    *out_length = entry->length;
    return (uint32_t *)in->words.items + entry->offset;
}

/* ---- sorting ---- */

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS, FEW = 48 };

/* Counts the digits of the keys into the places where each digit's run begins. */
static void start_runs(uint32_t runs[DIGITS]) {
    uint32_t sum = 0;
    for (size_t i = 0; i < DIGITS; i++) {
        uint32_t n = runs[i];
        runs[i] = sum;
        sum += n;
    }
}

static uint32_t digit(uint32_t key, unsigned shift) {
    return key >> shift & (DIGITS - 1);
}

static bool digits_u32(struct regular_work *w, uint32_t *items, size_t n) {
    uint32_t runs[DIGITS], all = 0;
    for (size_t i = 0; i < n; i++)
        all |= items[i];
    w->sorting.count = 0;
    if (!power_regular_room(w, &w->sorting, n, sizeof(struct power_regular_edge))) return false;
    uint32_t *from = items, *to = w->sorting.items;
    for (unsigned shift = 0; shift < 32 && all >> shift; shift += DIGIT_BITS) {
        memset(runs, 0, sizeof runs);
        for (size_t i = 0; i < n; i++)
            runs[digit(from[i], shift)]++;
        start_runs(runs);
        for (size_t i = 0; i < n; i++)
            to[runs[digit(from[i], shift)]++] = from[i];
        uint32_t *last = from;
        from = to;
        to = last;
    }
    if (from != items) memcpy(items, from, n * sizeof *items);
    return power_regular_steps(w, n);
}

bool power_regular_sort_u32(struct regular_work *w, uint32_t *items, size_t n) {
    size_t sorted = 1;
    while (sorted < n && items[sorted - 1] <= items[sorted])
        sorted++;
    if (sorted >= n) return true; /* very often: nothing to do */
    if (n > FEW) return digits_u32(w, items, n);
    for (size_t i = 1; i < n; i++) {
        uint32_t item = items[i];
        size_t j = i;
        for (; j > 0 && items[j - 1] > item; j--)
            items[j] = items[j - 1];
        items[j] = item;
    }
    return true;
}

static uint32_t key_of(const struct power_regular_edge *edge, enum regular_key key) {
    return key == REGULAR_BY_FIRST ? edge->first : edge->last;
}

static bool digits_edges(struct regular_work *w, struct power_regular_edge *edges, size_t n,
                         enum regular_key key) {
    uint32_t runs[DIGITS], all = 0;
    for (size_t i = 0; i < n; i++)
        all |= key_of(&edges[i], key);
    w->sorting.count = 0;
    if (!power_regular_room(w, &w->sorting, n, sizeof *edges)) return false;
    struct power_regular_edge *from = edges, *to = w->sorting.items;
    for (unsigned shift = 0; shift < 32 && all >> shift; shift += DIGIT_BITS) {
        memset(runs, 0, sizeof runs);
        for (size_t i = 0; i < n; i++)
            runs[digit(key_of(&from[i], key), shift)]++;
        start_runs(runs);
        for (size_t i = 0; i < n; i++)
            to[runs[digit(key_of(&from[i], key), shift)]++] = from[i];
        struct power_regular_edge *last = from;
        from = to;
        to = last;
    }
    if (from != edges) memcpy(edges, from, n * sizeof *edges);
    return power_regular_steps(w, n);
}

bool power_regular_sort_edges(struct regular_work *w, struct power_regular_edge *edges, size_t n,
                              enum regular_key key) {
    size_t sorted = 1;
    while (sorted < n && key_of(&edges[sorted - 1], key) <= key_of(&edges[sorted], key))
        sorted++;
    if (sorted >= n) return true;
    if (n > FEW) return digits_edges(w, edges, n, key);
    for (size_t i = 1; i < n; i++) {
        struct power_regular_edge edge = edges[i];
        size_t j = i;
        for (; j > 0 && key_of(&edges[j - 1], key) > key_of(&edge, key); j--)
            edges[j] = edges[j - 1];
        edges[j] = edge;
    }
    return true;
}

static void sink_item(uint32_t *items, size_t root, size_t n, regular_before before,
                      const void *context) {
    uint32_t item = items[root];
    for (;;) {
        size_t child = 2 * root + 1;
        if (child >= n) break;
        if (child + 1 < n && before(context, items[child], items[child + 1])) child++;
        if (!before(context, item, items[child])) break;
        items[root] = items[child];
        root = child;
    }
    items[root] = item;
}

bool power_regular_sort_by(struct regular_work *w, uint32_t *items, size_t n, regular_before before,
                           const void *context) {
    size_t sorted = 1;
    while (sorted < n && !before(context, items[sorted], items[sorted - 1]))
        sorted++;
    if (sorted >= n) return true;
    for (size_t i = n / 2; i-- > 0;)
        sink_item(items, i, n, before, context);
    for (size_t end = n - 1; end > 0; end--) {
        uint32_t item = items[end];
        items[end] = items[0];
        items[0] = item;
        sink_item(items, 0, end, before, context);
    }
    return power_regular_steps(w, 8 * n);
}
