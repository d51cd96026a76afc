/* SPDX-License-Identifier: MIT */
/* From one state to the next: a byte read in every place, then all that needs no byte.
 * Input: a state and a byte. Output: the next state. Threads: one.
 * Bounds: places of a state and nesting of frames are at most max_open; queues, no recursion.
 *
 * Why there is no dead end: every node of the program can reach the end of its body, since what
 * cannot is pruned before (analyse.c); cursors keep a place only while the automaton can go on
 * (cursor.c), objects only while a legal object can follow (object.c), counts stop at the maximum.
 * So each place can be finished by some text, its frame goes on in places of which the same holds,
 * and frames end in the root after finitely many. A state is kept only with a place or at the end.
 */
#include <stdlib.h>

#include "text/constraint/state.h"

/* ---- places of the state being made ---- */

static uint32_t seen_slot(const struct power_matcher *m, uint64_t place) {
    uint64_t h = place * UINT64_C(0x9E3779B97F4A7C15);
    uint32_t at = (uint32_t)(h >> 32) & (m->seen_room - 1);
    while (m->seen[at].stamp == m->stamp && m->seen[at].place != place)
        at = (at + 1) & (m->seen_room - 1);
    return at;
}

/* Empties the set; with `room`, also makes it larger. */
static bool seen_reset(struct power_matcher *m, uint32_t room) {
    if (room > m->seen_room) {
        struct power_seen *seen = power_alloc(m->allocator, room, sizeof *seen);
        if (!seen) return power_states_fail(m, POWER_NO_MEMORY, "no memory for %u places", room);
        power_release(m->allocator, m->seen, m->seen_room, sizeof *m->seen);
        m->table_bytes += (room - (size_t)m->seen_room) * sizeof *seen;
        m->seen = seen;
        m->seen_room = room;
        m->stamp = 0;
    }
    if (++m->stamp == 0) {
        memset(m->seen, 0, m->seen_room * sizeof *m->seen);
        m->stamp = 1;
    }
    m->n_seen = 0;
    return true;
}

static bool seen_grow(struct power_matcher *m) {
    struct power_seen *old = m->seen;
    uint32_t room = m->seen_room, stamp = m->stamp, n = m->n_seen;
    struct power_seen *seen = power_alloc(m->allocator, room * 2, sizeof *seen);
    if (!seen) return power_states_fail(m, POWER_NO_MEMORY, "no memory for %u places", room);
    m->seen = seen;
    m->seen_room = room * 2;
    m->stamp = 1;
    m->n_seen = n;
    m->table_bytes += room * sizeof *seen;
    for (uint32_t i = 0; i < room; i++) {
        if (old[i].stamp != stamp) continue;
        m->seen[seen_slot(m, old[i].place)] = (struct power_seen){old[i].place, m->stamp};
    }
    power_release(m->allocator, old, room, sizeof *old);
    return true;
}

void power_advance_visit(struct power_matcher *m, uint32_t local, uint32_t frame) {
    uint64_t place = (uint64_t)local << 32 | frame;
    if (m->status != POWER_OK) return;
    if (m->n_seen * 2 >= m->seen_room && !seen_grow(m)) return;
    uint32_t at = seen_slot(m, place);
    if (m->seen[at].stamp == m->stamp) return;
    if (m->n_seen / 8 >= m->max_open) {
        power_states_fail(m, POWER_LIMIT,
                          "the constraint has more than %u alternatives open at once", m->max_open);
        return;
    }
    m->seen[at] = (struct power_seen){place, m->stamp};
    m->n_seen++;
    if (POWER_STATES_ROOM(m, work)) m->work[m->n_work++] = (struct power_place){local, frame};
}

void power_advance_item(struct power_matcher *m, uint32_t local, uint32_t frame) {
    if (m->n_items >= m->max_open) {
        power_states_fail(m, POWER_LIMIT,
                          "the constraint has more than %u alternatives open at once", m->max_open);
        return;
    }
    if (POWER_STATES_ROOM(m, items)) m->items[m->n_items++] = (struct power_place){local, frame};
}

/* ---- frames ---- */

/* The callable inside `frame` has ended. */
void power_advance_end(struct power_matcher *m, uint32_t frame) {
    if (frame <= POWER_FRAME_HOLE) {
        m->flags |= frame == POWER_FRAME_ROOT ? POWER_STATE_END : POWER_STATE_HOLE;
        return;
    }
    uint32_t n;
    const struct power_place *pairs = power_frame_pairs(m, frame, &n);
    for (uint32_t i = 0; i < n; i++)
        power_advance_visit(m, pairs[i].local, pairs[i].frame);
}

/* A call waits until all places are known, so that one frame takes all its callers. */
void power_advance_call(struct power_matcher *m, uint32_t callable, uint32_t back, uint32_t frame) {
    uint64_t order = (uint64_t)m->grammar->callables[callable].order << 32 | callable;
    if (!POWER_STATES_ROOM(m, calls)) return;
    uint32_t at = m->n_calls++;
    for (; at > 0 && m->calls[(at - 1) / 2].order > order; at = (at - 1) / 2)
        m->calls[at] = m->calls[(at - 1) / 2];
    m->calls[at] = (struct power_pending_call){order, back, frame};
}

static struct power_pending_call pop_call(struct power_matcher *m) {
    struct power_pending_call top = m->calls[0], last = m->calls[--m->n_calls];
    uint32_t at = 0;
    for (uint32_t child = 1; child < m->n_calls; child = at * 2 + 1) {
        if (child + 1 < m->n_calls && m->calls[child + 1].order < m->calls[child].order) child++;
        if (m->calls[child].order >= last.order) break;
        m->calls[at] = m->calls[child];
        at = child;
    }
    m->calls[at] = last;
    return top;
}

static int compare_places(const void *a, const void *b) {
    const struct power_place *x = a, *y = b;
    if (x->local != y->local) return x->local < y->local ? -1 : 1;
    return (x->frame > y->frame) - (x->frame < y->frame);
}

/* Adds where a caller goes on. What has nothing left to do but end goes on where its own callers
 * do: right recursion opens no frames. */
static void add_pair(struct power_matcher *m, uint32_t local, uint32_t frame) {
    const struct power_place *pairs = &(struct power_place){local, frame};
    uint32_t n = 1;
    if (local == 0 && frame > POWER_FRAME_HOLE) pairs = power_frame_pairs(m, frame, &n);
    for (uint32_t i = 0; i < n; i++) {
        if (!POWER_STATES_ROOM(m, pairs)) return;
        m->pairs[m->n_pairs++] = pairs[i];
    }
}

/* The frame of m->pairs. Word 0 is the depth, the pairs follow. */
static uint32_t make_frame(struct power_matcher *m) {
    uint32_t n = 0, depth = 0;
    if (m->n_pairs > 1) qsort(m->pairs, m->n_pairs, sizeof *m->pairs, compare_places);
    for (uint32_t i = 0; i < m->n_pairs; i++) {
        if (n && compare_places(&m->pairs[n - 1], &m->pairs[i]) == 0) continue;
        m->pairs[n++] = m->pairs[i];
        uint32_t outer = power_frame_depth(m, m->pairs[i].frame);
        if (outer > depth) depth = outer;
    }
    if (n == 1 && m->pairs[0].local == 0) return m->pairs[0].frame;
    if (depth >= m->max_open || n > m->max_open) {
        power_states_fail(m, POWER_LIMIT, "the constraint nests deeper than %u", m->max_open);
        return 0;
    }
    while (m->words_room < n * 2 + 1) {
        m->words = power_states_room(m, m->words, &m->words_room, m->words_room, sizeof *m->words);
        if (m->status != POWER_OK) return 0;
    }
    m->words[0] = depth + 1;
    memcpy(m->words + 1, m->pairs, n * sizeof *m->pairs);
    return power_states_intern(m, &m->frames, m->words, n * 2 + 1, true);
}

static uint32_t start_of(struct power_matcher *m, const struct power_callable *callable) {
    struct power_local local = {.ref = callable->ref};
    switch ((enum power_callable_kind)callable->kind) {
    case POWER_CALL_BODY:
        return callable->ref;
    case POWER_CALL_CURSOR:
        local.kind = POWER_LOCAL_CURSOR;
        break;
    case POWER_CALL_QUOTED:
        local.kind = POWER_LOCAL_QUOTED;
        break;
    case POWER_CALL_COUNTED:
        local.kind = POWER_LOCAL_COUNTED;
        break;
    case POWER_CALL_OBJECT:
        return power_object_start(m, callable->ref);
    }
    return power_local_make(m, local);
}

/* All waiting calls of one callable, the one that nothing waiting can begin inside of. */
static void open_calls(struct power_matcher *m) {
    uint64_t order = m->calls[0].order;
    const struct power_callable *callable = &m->grammar->callables[(uint32_t)order];
    m->n_pairs = 0;
    while (m->n_calls && m->calls[0].order == order && m->status == POWER_OK) {
        struct power_pending_call call = pop_call(m);
        add_pair(m, call.local, call.frame);
    }
    if (m->status != POWER_OK) return;
    uint32_t frame = make_frame(m);
    uint32_t start = start_of(m, callable);
    power_advance_visit(m, start, frame);
}

/* ---- without a byte ---- */

static void open_node(struct power_matcher *m, uint32_t local, uint32_t frame) {
    const struct power_grammar *g = m->grammar;
    const struct power_node *node = &g->nodes[local];
    switch ((enum power_op)node->op) {
    case POWER_OP_FINAL:
        power_advance_end(m, frame);
        break;
    case POWER_OP_JUMP:
        power_advance_visit(m, node->b, frame);
        break;
    case POWER_OP_BYTE:
        power_advance_item(m, local, frame);
        break;
    case POWER_OP_SPLIT:
        for (uint32_t i = 0; i < node->b; i++)
            power_advance_visit(m, g->edges[node->a + i], frame);
        break;
    case POWER_OP_CALL:
        power_advance_call(m, node->a, node->b, frame);
        if (g->callables[node->a].nullable) power_advance_visit(m, node->b, frame);
        break;
    }
}

static uint32_t next_count(const struct power_counted *counted, uint32_t count) {
    if (counted->max == UINT32_MAX && count >= counted->min) return count;
    return count + 1;
}

/* Behind one more repeat: the end where no more may follow. */
static uint32_t count_on(struct power_matcher *m, const struct power_local *l) {
    const struct power_counted *counted = &m->grammar->counted[l->ref];
    struct power_local next = *l;
    next.a = next_count(counted, l->a);
    return next.a == counted->max ? 0 : power_local_make(m, next);
}

static void open_counted(struct power_matcher *m, uint32_t local, uint32_t frame) {
    struct power_local l = *power_local_of(m, local);
    const struct power_counted *counted = &m->grammar->counted[l.ref];
    if (l.a >= counted->min) power_advance_end(m, frame);
    if (counted->set != POWER_NO_INDEX) {
        power_advance_item(m, local, frame);
    } else {
        power_advance_call(m, counted->body, count_on(m, &l), frame);
    }
}

static void open_cursor(struct power_matcher *m, uint32_t local, uint32_t frame) {
    const struct power_local *l = power_local_of(m, local);
    const struct power_regular_state *state = &m->grammar->regulars[l->ref].language.states[l->a];
    bool quoted = l->kind == POWER_LOCAL_QUOTED, between = l->b == POWER_SPELL_START;
    if (quoted || !between || state->n_edges) power_advance_item(m, local, frame);
    if (!quoted && between && state->accepts) power_advance_end(m, frame);
}

static void open_places(struct power_matcher *m) {
    while (m->status == POWER_OK && (m->n_work || m->n_calls)) {
        if (m->n_work == 0) {
            open_calls(m);
            continue;
        }
        struct power_place place = m->work[--m->n_work];
        if (place.local < m->grammar->n_nodes) {
            open_node(m, place.local, place.frame);
            continue;
        }
        uint32_t kind = power_local_of(m, place.local)->kind;
        if (kind <= POWER_LOCAL_QUOTED) {
            open_cursor(m, place.local, place.frame);
        } else if (kind == POWER_LOCAL_COUNTED) {
            open_counted(m, place.local, place.frame);
        } else {
            power_object_open(m, place.local, place.frame);
        }
    }
}

/* ---- one byte ---- */

static void step_cursor(struct power_matcher *m, struct power_place item, unsigned char byte) {
    struct power_local l = *power_local_of(m, item.local);
    const struct power_program_regular *r = &m->grammar->regulars[l.ref];
    struct power_cursor cursor = {l.a, l.b};
    if (byte == '"' && l.kind == POWER_LOCAL_QUOTED && l.b == POWER_SPELL_START) {
        if (r->language.states[l.a].accepts) power_advance_end(m, item.frame);
        return;
    }
    if (!power_cursor_step(r, &cursor, byte)) return;
    l.a = cursor.state;
    l.b = cursor.spelling;
    power_advance_visit(m, power_local_make(m, l), item.frame);
}

static void step_item(struct power_matcher *m, struct power_place item, unsigned char byte) {
    const struct power_grammar *g = m->grammar;
    if (item.local < g->n_nodes) {
        const struct power_node *node = &g->nodes[item.local];
        if (g->sets[node->a][byte >> 6] >> (byte & 63) & 1) {
            power_advance_visit(m, node->b, item.frame);
        }
        return;
    }
    struct power_local l = *power_local_of(m, item.local);
    if (l.kind <= POWER_LOCAL_QUOTED) {
        step_cursor(m, item, byte);
    } else if (l.kind == POWER_LOCAL_COUNTED) {
        const uint64_t *set = g->sets[g->counted[l.ref].set];
        if (set[byte >> 6] >> (byte & 63) & 1) {
            power_advance_visit(m, count_on(m, &l), item.frame);
        }
    } else {
        power_object_step(m, item.local, item.frame, byte);
    }
}

static bool begin(struct power_matcher *m) {
    m->n_work = m->n_items = m->n_calls = 0;
    m->flags = 0;
    return seen_reset(m, 256) && m->status == POWER_OK;
}

static uint32_t complete(struct power_matcher *m) {
    open_places(m);
    return power_states_make(m);
}

/* Where the state keeps what follows on the byte; NULL without memory. */
static uint32_t *next_place(struct power_matcher *m, uint32_t state, unsigned char byte) {
    struct power_state *s = &m->states[state];
    uint32_t at = byte;
    if (!s->next) {
        uint32_t *next = power_states_alloc(m, s->n_few ? s->n_few : 256, sizeof *next);
        if (!next) return NULL;
        s->next = next;
    }
    if (s->n_few) {
        for (at = 0; s->few[at] != byte;)
            at++;
    }
    return &s->next[at];
}

uint32_t power_states_step_new(struct power_matcher *m, uint32_t state, unsigned char byte,
                               bool exact) {
    exact = exact && m->states[state].flags & POWER_STATE_CLASS;
    uint32_t *place = NULL;
    if (m->status != POWER_OK) return 0;
    if (!(m->states[state].maybe[byte >> 6] >> (byte & 63) & 1)) return POWER_STATE_DEAD;
    if (!exact) {
        place = next_place(m, state, byte);
        if (!place) return 0;
        if (*place) return *place;
    }
    if (!begin(m)) return 0;
    m->exact = exact;
    for (uint32_t i = 0; i < m->states[state].n_items; i++)
        step_item(m, m->states[state].items[i], byte);
    uint32_t next = complete(m);
    if (place) *place = next;
    return next;
}

uint32_t power_states_of_frame(struct power_matcher *m, uint32_t frame) {
    if (!begin(m)) return 0;
    power_advance_end(m, frame);
    return complete(m);
}

uint32_t power_states_of_callable(struct power_matcher *m, uint32_t callable) {
    if (!begin(m)) return 0;
    power_advance_call(m, callable, 0, POWER_FRAME_ROOT);
    if (m->grammar->callables[callable].nullable) power_advance_visit(m, 0, POWER_FRAME_ROOT);
    return complete(m);
}

uint32_t power_states_inside(struct power_matcher *m, uint32_t state) {
    if (!begin(m)) return 0;
    for (uint32_t i = 0; i < m->states[state].n_items; i++)
        power_advance_visit(m, m->states[state].items[i].local, POWER_FRAME_HOLE);
    return complete(m);
}
