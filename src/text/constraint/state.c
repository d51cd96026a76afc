/* SPDX-License-Identifier: MIT */
/* Interning of locals, frames and states, and dropping what nobody holds.
 * Input: words and items. Output: numbers. Threads: one.
 * Bounds: max_state_bytes; tables grow by doubling. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "text/constraint/state.h"

enum { FIRST_ENTRIES = 64 };

bool power_states_fail(struct power_matcher *m, power_status status, const char *format, ...) {
    char message[256];
    va_list arguments;
    if (m->status != POWER_OK) return false;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    m->status = power_fail(m->error, status, "%s", message);
    return false;
}

size_t power_states_bytes(const struct power_matcher *m) {
    return m->arena.used_bytes + m->table_bytes;
}

static bool fits(struct power_matcher *m, size_t bytes) {
    if (bytes <= m->max_state_bytes && power_states_bytes(m) <= m->max_state_bytes - bytes) {
        return true;
    }
    if (m->status == POWER_OK) m->out_of_bytes = true;
    return power_states_fail(m, POWER_LIMIT,
                             "the constraint's states exceed their limit of %zu bytes",
                             m->max_state_bytes);
}

void *power_states_alloc(struct power_matcher *m, size_t count, size_t size) {
    if (!fits(m, count * size)) return NULL;
    void *memory = power_arena_alloc(&m->arena, count, size);
    if (!memory) power_states_fail(m, POWER_NO_MEMORY, "no memory for %zu parts of a state", count);
    return memory;
}

/* An array outside the arena: old content is kept. */
static void *grow(struct power_matcher *m, void *items, size_t old, size_t room, size_t size) {
    if (!fits(m, (room - old) * size)) return NULL;
    void *grown = power_alloc(m->allocator, room, size);
    if (!grown) {
        power_states_fail(m, POWER_NO_MEMORY, "no memory for %zu parts of a state", room);
        return NULL;
    }
    if (old) memcpy(grown, items, old * size);
    power_release(m->allocator, items, old, size);
    m->table_bytes += (room - old) * size;
    return grown;
}

void *power_states_room(struct power_matcher *m, void *items, uint32_t *room, uint32_t count,
                        size_t size) {
    if (count < *room || m->status != POWER_OK) return items;
    uint32_t more = *room ? *room * 2 : FIRST_ENTRIES;
    void *grown = grow(m, items, *room, more, size);
    if (!grown) return items;
    *room = more;
    return grown;
}

static uint32_t hash_words(const uint32_t *words, uint32_t n, uint32_t seed) {
    uint64_t h = UINT64_C(0x9E3779B97F4A7C15) ^ ((uint64_t)seed << 32 | n);
    for (uint32_t i = 0; i < n; i++) {
        h = (h ^ words[i]) * UINT64_C(0xD6E8FEB86659FD93);
        h ^= h >> 32;
    }
    return (uint32_t)h;
}

/* ---- interned words ---- */

static bool intern_slots(struct power_matcher *m, struct power_intern *in) {
    if ((in->n + 1) * 2 <= in->n_slots) return true;
    uint32_t n_slots = in->n_slots ? in->n_slots * 2 : FIRST_ENTRIES * 2;
    if (!fits(m, (n_slots - in->n_slots) * sizeof *in->slots)) return false;
    uint32_t *slots = power_alloc(m->allocator, n_slots, sizeof *slots);
    if (!slots) return power_states_fail(m, POWER_NO_MEMORY, "no memory for %u states", n_slots);
    for (uint32_t i = 0; i < in->n; i++) {
        uint32_t at = in->entries[i].hash & (n_slots - 1);
        while (slots[at])
            at = (at + 1) & (n_slots - 1);
        slots[at] = i + 1;
    }
    power_release(m->allocator, in->slots, in->n_slots, sizeof *in->slots);
    m->table_bytes += (n_slots - in->n_slots) * sizeof *slots;
    in->slots = slots;
    in->n_slots = n_slots;
    return true;
}

static uint32_t intern_add(struct power_matcher *m, struct power_intern *in, const uint32_t *words,
                           uint32_t n, uint32_t hash, uint32_t at) {
    uint32_t *copy = power_states_alloc(m, n, sizeof *copy);
    if (!copy) return UINT32_MAX;
    if (in->n == in->room) {
        in->entries = power_states_room(m, in->entries, &in->room, in->n, sizeof *in->entries);
        if (m->status != POWER_OK) return UINT32_MAX;
    }
    memcpy(copy, words, n * sizeof *copy);
    in->entries[in->n] = (struct power_interned){copy, n, hash};
    in->slots[at] = in->n + 1;
    return in->n++;
}

uint32_t power_states_intern(struct power_matcher *m, struct power_intern *in,
                             const uint32_t *words, uint32_t n, bool add) {
    if (m->status != POWER_OK || !intern_slots(m, in)) return UINT32_MAX;
    uint32_t hash = hash_words(words, n, 0), at = hash & (in->n_slots - 1);
    for (; in->slots[at]; at = (at + 1) & (in->n_slots - 1)) {
        const struct power_interned *entry = &in->entries[in->slots[at] - 1];
        if (entry->hash == hash && entry->n == n &&
            memcmp(entry->words, words, n * sizeof *words) == 0) {
            return in->slots[at] - 1;
        }
    }
    return add ? intern_add(m, in, words, n, hash, at) : UINT32_MAX;
}

static void intern_finish(struct power_matcher *m, struct power_intern *in) {
    power_release(m->allocator, in->entries, in->room, sizeof *in->entries);
    power_release(m->allocator, in->slots, in->n_slots, sizeof *in->slots);
    m->table_bytes -= in->room * sizeof *in->entries + in->n_slots * sizeof *in->slots;
    *in = (struct power_intern){0};
}

/* ---- states ---- */

static int compare_places(const void *a, const void *b) {
    const struct power_place *x = a, *y = b;
    if (x->local != y->local) return x->local < y->local ? -1 : 1;
    return (x->frame > y->frame) - (x->frame < y->frame);
}

static void sort_places(struct power_place *places, uint32_t n) {
    if (n > 12) {
        qsort(places, n, sizeof *places, compare_places);
        return;
    }
    for (uint32_t i = 1; i < n; i++) {
        struct power_place place = places[i];
        uint32_t at = i;
        for (; at > 0 && compare_places(&places[at - 1], &place) > 0; at--)
            places[at] = places[at - 1];
        places[at] = place;
    }
}

static void local_maybe(const struct power_matcher *m, uint32_t local, uint64_t set[4]) {
    const struct power_grammar *g = m->grammar;
    const uint64_t *from = NULL;
    if (local < g->n_nodes) {
        from = g->sets[g->nodes[local].a];
    } else {
        const struct power_local *l = power_local_of(m, local);
        if (l->kind == POWER_LOCAL_COUNTED) {
            from = g->sets[g->counted[l->ref].set];
        } else if (l->kind <= POWER_LOCAL_QUOTED) {
            power_cursor_maybe(&g->regulars[l->ref], (struct power_cursor){l->a, l->b}, set);
            if (l->kind == POWER_LOCAL_QUOTED) set[0] |= UINT64_C(1) << '"';
        } else {
            power_object_maybe(m, local, set);
        }
    }
    for (int w = 0; from && w < 4; w++)
        set[w] |= from[w];
}

static void find_few(struct power_state *s) {
    int n = 0;
    for (int w = 0; w < 4; w++)
        n += __builtin_popcountll(s->maybe[w]);
    if (n > POWER_FEW_BYTES) return;
    for (int w = 0; w < 4; w++) {
        for (uint64_t bits = s->maybe[w]; bits; bits &= bits - 1)
            s->few[s->n_few++] = (unsigned char)(w * 64 + __builtin_ctzll(bits));
    }
}

static uint32_t hash_state(const struct power_place *items, uint32_t n, uint32_t flags) {
    return hash_words((const uint32_t *)(const void *)items, n * 2, flags & POWER_STATE_KEYED);
}

static void fill_slots(struct power_matcher *m) {
    uint32_t n_slots = m->n_state_slots;
    for (uint32_t i = POWER_STATE_FIRST; i < m->n_states; i++) {
        if (!m->states[i].live) continue;
        uint32_t at = m->states[i].hash & (n_slots - 1);
        while (m->state_slots[at])
            at = (at + 1) & (n_slots - 1);
        m->state_slots[at] = i;
    }
}

static void set_slots(struct power_matcher *m, uint32_t *slots, uint32_t n_slots) {
    power_release(m->allocator, m->state_slots, m->n_state_slots, sizeof *slots);
    m->table_bytes += n_slots * sizeof *slots;
    m->table_bytes -= m->n_state_slots * sizeof *slots;
    m->state_slots = slots;
    m->n_state_slots = n_slots;
    fill_slots(m);
}

static bool state_slots(struct power_matcher *m, uint32_t n_slots) {
    if (!fits(m, n_slots * sizeof *m->state_slots)) return false;
    uint32_t *slots = power_alloc(m->allocator, n_slots, sizeof *slots);
    if (!slots) return power_states_fail(m, POWER_NO_MEMORY, "no memory for %u states", n_slots);
    set_slots(m, slots, n_slots);
    return true;
}

/* The states behind the last live one are forgotten, and their memory is given back. */
static void shrink_states(struct power_matcher *m) {
    uint32_t n = m->n_states, room = m->states_room;
    while (n > POWER_STATE_FIRST && !m->states[n - 1].live)
        n--;
    m->n_states = n;
    while (m->n_free_states && m->free_states[m->n_free_states - 1] >= n)
        m->n_free_states--; /* in ascending order */
    while (room > FIRST_ENTRIES && room / 4 > n)
        room /= 2;
    if (room == m->states_room) return;
    struct power_state *states = power_alloc(m->allocator, room, sizeof *states);
    if (!states) return; /* the larger room serves as well */
    memcpy(states, m->states, n * sizeof *states);
    power_release(m->allocator, m->states, m->states_room, sizeof *states);
    m->table_bytes -= (m->states_room - room) * sizeof *states;
    m->states = states;
    m->states_room = room;
}

void power_states_rehash(struct power_matcher *m) {
    shrink_states(m);
    for (uint32_t i = POWER_STATE_FIRST; i < m->n_states; i++) {
        struct power_state *s = &m->states[i];
        if (s->live) s->hash = hash_state(s->items, s->n_items, s->flags);
    }
    uint32_t n_slots = FIRST_ENTRIES * 2;
    while (n_slots <= m->n_states * 2)
        n_slots *= 2;
    uint32_t *slots = NULL;
    if (n_slots < m->n_state_slots) slots = power_alloc(m->allocator, n_slots, sizeof *slots);
    if (slots) {
        set_slots(m, slots, n_slots);
    } else { /* as many as there were are enough */
        memset(m->state_slots, 0, m->n_state_slots * sizeof *m->state_slots);
        fill_slots(m);
    }
}

static uint32_t state_add(struct power_matcher *m, uint32_t hash, uint32_t at) {
    uint32_t number;
    struct power_state s = {.n_items = m->n_items, .hash = hash, .flags = m->flags, .live = true};
    s.items = power_states_alloc(m, m->n_items, sizeof *s.items);
    if (!s.items) return 0;
    if (m->n_items) memcpy(s.items, m->items, m->n_items * sizeof *s.items);
    for (uint32_t i = 0; i < m->n_items; i++)
        local_maybe(m, s.items[i].local, s.maybe);
    find_few(&s);
    if (m->n_free_states) {
        number = m->free_states[--m->n_free_states];
    } else {
        if (!POWER_STATES_ROOM(m, states)) return 0;
        number = m->n_states++;
    }
    m->states[number] = s;
    m->state_slots[at] = number;
    return number;
}

uint32_t power_states_make(struct power_matcher *m) {
    if (m->status != POWER_OK) return 0;
    if (m->n_items == 0 && (m->flags & POWER_STATE_KEYED) == 0) return POWER_STATE_DEAD;
    if ((size_t)m->n_states * 2 >= m->n_state_slots && !state_slots(m, m->n_state_slots * 2)) {
        return 0;
    }
    sort_places(m->items, m->n_items);
    uint32_t hash = hash_state(m->items, m->n_items, m->flags);
    uint32_t at = hash & (m->n_state_slots - 1);
    for (; m->state_slots[at]; at = (at + 1) & (m->n_state_slots - 1)) {
        const struct power_state *s = &m->states[m->state_slots[at]];
        if (s->hash == hash && s->n_items == m->n_items && s->flags == m->flags &&
            (s->n_items == 0 || memcmp(s->items, m->items, s->n_items * sizeof *s->items) == 0)) {
            return m->state_slots[at];
        }
    }
    return state_add(m, hash, at);
}

bool power_states_begin(struct power_matcher *m) {
    const uint32_t root = 0, hole = 1, none[2] = {0, 0}, empty[2] = {0, 1};
    power_arena_init(&m->arena, m->allocator, SIZE_MAX);
    power_states_intern(m, &m->frames, &root, 1, true);
    power_states_intern(m, &m->frames, &hole, 1, true);
    power_states_intern(m, &m->texts, none, 2, true);
    power_states_intern(m, &m->texts, empty, 2, true);
    power_states_intern(m, &m->payloads, none, 2, true);
    return m->status == POWER_OK;
}

bool power_states_init(struct power_matcher *m) {
    while (m->n_states < POWER_STATE_FIRST) {
        if (!POWER_STATES_ROOM(m, states)) return false;
        m->states[m->n_states++] = (struct power_state){0};
    }
    return state_slots(m, FIRST_ENTRIES * 2) && power_states_begin(m);
}

void power_states_finish(struct power_matcher *m) {
    intern_finish(m, &m->locals);
    intern_finish(m, &m->frames);
    intern_finish(m, &m->payloads);
    intern_finish(m, &m->texts);
    power_arena_finish(&m->arena);
    power_release(m->allocator, m->states, m->states_room, sizeof *m->states);
    power_release(m->allocator, m->state_slots, m->n_state_slots, sizeof *m->state_slots);
    power_release(m->allocator, m->free_states, m->free_states_room, sizeof *m->free_states);
    power_release(m->allocator, m->work, m->work_room, sizeof *m->work);
    power_release(m->allocator, m->items, m->items_room, sizeof *m->items);
    power_release(m->allocator, m->pairs, m->pairs_room, sizeof *m->pairs);
    power_release(m->allocator, m->calls, m->calls_room, sizeof *m->calls);
    power_release(m->allocator, m->seen, m->seen_room, sizeof *m->seen);
    power_release(m->allocator, m->words, m->words_room, sizeof *m->words);
}
