/* SPDX-License-Identifier: MIT */
/* Dropping the states that nothing holds: what the held ones need is copied to a new arena.
 * Input: a matcher between calls. Output: the same states under their numbers, all else gone.
 * Threads: one. Bounds: linear in the states; needs the memory of what is held once more. Without
 * it everything stays as it was.
 * Everything interned refers to smaller numbers only, so one pass down marks and one pass up
 * copies; copies keep their order, so sorted lists stay sorted. */
#include "text/constraint/state.h"

struct tables {
    struct power_intern locals, frames, payloads, texts;      /* as they were */
    uint32_t *local_map, *frame_map, *payload_map, *text_map; /* 0: not held; else new number + 1 */
    struct power_place **items;                               /* copies by the state's number */
    uint32_t n_states;
};

static bool maps_init(struct power_matcher *m, struct tables *t) {
    t->local_map = power_alloc(m->allocator, t->locals.n + 1, sizeof(uint32_t));
    t->frame_map = power_alloc(m->allocator, t->frames.n + 1, sizeof(uint32_t));
    t->payload_map = power_alloc(m->allocator, t->payloads.n + 1, sizeof(uint32_t));
    t->text_map = power_alloc(m->allocator, t->texts.n + 1, sizeof(uint32_t));
    t->items = power_alloc(m->allocator, t->n_states, sizeof *t->items);
    if (t->local_map && t->frame_map && t->payload_map && t->text_map && t->items) return true;
    return power_states_fail(m, POWER_NO_MEMORY, "no memory to drop %u states", m->n_states);
}

static void intern_finish(struct power_matcher *m, struct power_intern *in) {
    power_release(m->allocator, in->entries, in->room, sizeof *in->entries);
    power_release(m->allocator, in->slots, in->n_slots, sizeof *in->slots);
}

static size_t intern_bytes(const struct power_intern *in) {
    return in->room * sizeof *in->entries + in->n_slots * sizeof *in->slots;
}

static void maps_finish(struct power_matcher *m, struct tables *t) {
    power_release(m->allocator, t->local_map, t->locals.n + 1, sizeof(uint32_t));
    power_release(m->allocator, t->frame_map, t->frames.n + 1, sizeof(uint32_t));
    power_release(m->allocator, t->payload_map, t->payloads.n + 1, sizeof(uint32_t));
    power_release(m->allocator, t->text_map, t->texts.n + 1, sizeof(uint32_t));
    power_release(m->allocator, t->items, t->n_states, sizeof *t->items);
}

static size_t tables_bytes(const struct tables *t) {
    return intern_bytes(&t->locals) + intern_bytes(&t->frames) + intern_bytes(&t->payloads) +
           intern_bytes(&t->texts);
}

static struct tables tables_of(const struct power_matcher *m) {
    return (struct tables){.locals = m->locals,
                           .frames = m->frames,
                           .payloads = m->payloads,
                           .texts = m->texts,
                           .n_states = m->n_states};
}

static void tables_set(struct power_matcher *m, const struct tables *t) {
    m->locals = t->locals;
    m->frames = t->frames;
    m->payloads = t->payloads;
    m->texts = t->texts;
}

static void tables_finish(struct power_matcher *m, struct tables *t) {
    intern_finish(m, &t->locals);
    intern_finish(m, &t->frames);
    intern_finish(m, &t->payloads);
    intern_finish(m, &t->texts);
}

/* ---- marking ---- */

static void mark_place(const struct power_matcher *m, struct tables *t, struct power_place place) {
    if (place.local >= m->grammar->n_nodes) t->local_map[place.local - m->grammar->n_nodes] = 1;
    t->frame_map[place.frame] = 1;
}

static void mark_frames(const struct power_matcher *m, struct tables *t) {
    for (uint32_t f = t->frames.n; f > POWER_FRAME_HOLE + 1; f--) {
        const struct power_interned *entry = &t->frames.entries[f - 1];
        if (!t->frame_map[f - 1]) continue;
        const struct power_place *pairs = (const void *)(entry->words + 1);
        for (uint32_t i = 0; i < (entry->n - 1) / 2; i++)
            mark_place(m, t, pairs[i]);
    }
}

enum { PAYLOAD_USED = 3, PAYLOAD_WORDS = 4 };

static bool has_payload(const struct power_local *l) {
    return l->kind >= POWER_LOCAL_OPEN;
}

static void mark_texts(struct tables *t) {
    for (uint32_t i = 0; i < t->locals.n; i++) {
        const struct power_local *l = (const void *)t->locals.entries[i].words;
        if (!t->local_map[i] || !has_payload(l)) continue;
        t->payload_map[l->payload] = 1;
        if (l->kind == POWER_LOCAL_CLASS) t->text_map[l->c] = 1;
    }
    for (uint32_t i = 1; i < t->payloads.n; i++) {
        const uint32_t *words = t->payloads.entries[i].words;
        for (uint32_t u = 0; t->payload_map[i] && u < words[PAYLOAD_USED]; u++)
            t->text_map[words[PAYLOAD_WORDS + 2 * u + 1]] = 1;
    }
    for (uint32_t i = t->texts.n; i > 2; i--) {
        if (t->text_map[i - 1]) t->text_map[t->texts.entries[i - 1].words[0]] = 1;
    }
}

/* ---- copying ---- */

/* Interns a copy of the words after `change`; the map gets the new number + 1. */
static bool copy_entry(struct power_matcher *m, struct power_intern *in,
                       const struct power_interned *from, uint32_t *map) {
    uint32_t number = power_states_intern(m, in, from->words, from->n, true);
    *map = number + 1;
    return m->status == POWER_OK;
}

static uint32_t *work_words(struct power_matcher *m, const struct power_interned *from) {
    while (m->words_room < from->n && m->status == POWER_OK) {
        m->words = power_states_room(m, m->words, &m->words_room, m->words_room, sizeof *m->words);
    }
    if (m->status != POWER_OK) return NULL;
    memcpy(m->words, from->words, from->n * sizeof *m->words);
    return m->words;
}

static struct power_place map_place(const struct power_matcher *m, const struct tables *t,
                                    struct power_place place) {
    uint32_t n = m->grammar->n_nodes;
    if (place.local >= n) place.local = n + t->local_map[place.local - n] - 1;
    place.frame = t->frame_map[place.frame] - 1;
    return place;
}

static bool copy_texts(struct power_matcher *m, struct tables *t) {
    t->text_map[0] = 1;
    t->text_map[1] = 2;
    for (uint32_t i = 2; i < t->texts.n; i++) {
        const struct power_interned *from = &t->texts.entries[i];
        if (!t->text_map[i]) continue;
        const uint32_t words[2] = {t->text_map[from->words[0]] - 1, from->words[1]};
        if (!copy_entry(m, &m->texts, &(struct power_interned){.words = words, .n = 2},
                        &t->text_map[i])) {
            return false;
        }
    }
    t->payload_map[0] = 1;
    for (uint32_t i = 1; i < t->payloads.n; i++) {
        struct power_interned from = t->payloads.entries[i];
        if (!t->payload_map[i]) continue;
        uint32_t *words = work_words(m, &from);
        if (!words) return false;
        for (uint32_t u = 0; u < words[PAYLOAD_USED]; u++) {
            uint32_t *text = &words[PAYLOAD_WORDS + 2 * u + 1];
            *text = t->text_map[*text] - 1;
        }
        from.words = words;
        if (!copy_entry(m, &m->payloads, &from, &t->payload_map[i])) return false;
    }
    return true;
}

static bool copy_locals(struct power_matcher *m, struct tables *t) {
    for (uint32_t i = 0; i < t->locals.n; i++) {
        struct power_interned from = t->locals.entries[i];
        struct power_local l;
        if (!t->local_map[i]) continue;
        memcpy(&l, from.words, sizeof l);
        if (has_payload(&l)) l.payload = t->payload_map[l.payload] - 1;
        if (l.kind == POWER_LOCAL_CLASS) l.c = t->text_map[l.c] - 1;
        from.words = (const uint32_t *)(const void *)&l;
        if (!copy_entry(m, &m->locals, &from, &t->local_map[i])) return false;
    }
    return true;
}

static bool copy_frames(struct power_matcher *m, struct tables *t) {
    t->frame_map[POWER_FRAME_ROOT] = POWER_FRAME_ROOT + 1;
    t->frame_map[POWER_FRAME_HOLE] = POWER_FRAME_HOLE + 1;
    for (uint32_t f = POWER_FRAME_HOLE + 1; f < t->frames.n; f++) {
        struct power_interned from = t->frames.entries[f];
        if (!t->frame_map[f]) continue;
        uint32_t *words = work_words(m, &from);
        if (!words) return false;
        struct power_place *pairs = (void *)(words + 1);
        for (uint32_t i = 0; i < (from.n - 1) / 2; i++)
            pairs[i] = map_place(m, t, pairs[i]);
        from.words = words;
        if (!copy_entry(m, &m->frames, &from, &t->frame_map[f])) return false;
    }
    return true;
}

static bool copy_items(struct power_matcher *m, struct tables *t) {
    for (uint32_t number = POWER_STATE_FIRST; number < t->n_states; number++) {
        const struct power_state *s = &m->states[number];
        if (s->refs == 0) continue;
        struct power_place *items = power_states_alloc(m, s->n_items, sizeof *items);
        if (!items) return false;
        for (uint32_t i = 0; i < s->n_items; i++)
            items[i] = map_place(m, t, s->items[i]);
        t->items[number] = items;
    }
    while (m->free_states_room < t->n_states && m->status == POWER_OK) {
        m->free_states = power_states_room(m, m->free_states, &m->free_states_room,
                                           m->free_states_room, sizeof *m->free_states);
    }
    return m->status == POWER_OK;
}

/* The copies take their places. */
static void commit(struct power_matcher *m, const struct tables *t) {
    m->n_free_states = 0;
    for (uint32_t number = POWER_STATE_FIRST; number < t->n_states; number++) {
        struct power_state *s = &m->states[number];
        if (s->refs == 0) {
            *s = (struct power_state){0};
            m->free_states[m->n_free_states++] = number;
            continue;
        }
        s->items = t->items[number];
        s->next = NULL;
        s->exits = NULL;
        s->n_exits = 0;
    }
    power_masks_forget(m);
    power_states_rehash(m);
}

static bool copy_all(struct power_matcher *m, struct tables *t) {
    for (uint32_t number = POWER_STATE_FIRST; number < m->n_states; number++) {
        const struct power_state *s = &m->states[number];
        for (uint32_t i = 0; s->refs && i < s->n_items; i++)
            mark_place(m, t, s->items[i]);
    }
    mark_frames(m, t);
    mark_texts(t);
    return power_states_begin(m) && copy_texts(m, t) && copy_locals(m, t) && copy_frames(m, t) &&
           copy_items(m, t);
}

bool power_states_collect(struct power_matcher *m) {
    struct tables before = tables_of(m), none = {0};
    struct power_arena arena = m->arena;
    size_t limit = m->max_state_bytes;
    bool done = maps_init(m, &before);
    if (done) {
        m->table_bytes -= tables_bytes(&before);
        tables_set(m, &none);
        m->max_state_bytes = SIZE_MAX; /* what is held must stay; the caller looks at the limit */
        done = copy_all(m, &before);
        m->max_state_bytes = limit;
        struct tables after = tables_of(m);
        if (done) {
            commit(m, &before);
            tables_finish(m, &before);
            power_arena_finish(&arena);
            m->bytes_after_collect = power_states_bytes(m);
        } else {
            m->table_bytes += tables_bytes(&before);
            m->table_bytes -= tables_bytes(&after);
            tables_finish(m, &after);
            power_arena_finish(&m->arena);
            tables_set(m, &before);
            m->arena = arena;
        }
    }
    maps_finish(m, &before);
    return done;
}
