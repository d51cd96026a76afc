/* SPDX-License-Identifier: MIT */
/* Job: from a deterministic machine to the automaton that the header promises.
 * Input: a machine. Output: its minimal automaton without dead states, numbered breadth first.
 * Threads: one an operation. Bounds: the operation's steps and work memory.
 *
 * Minimisation refines a partition of the states. A block splits the others by the set of
 * characters on which each state enters it, as ranges: no alphabet is ever listed. As the machine
 * is deterministic, a block that is split needs all parts but the largest as further splitters
 * (Hopcroft 1971); blocks of the first partition are splitters all, for missing edges. */
#include "text/constraint/regular_internal.h"

struct minimiser {
    struct regular_work *w;
    struct regular_machine *m;
    size_t n;
    /* inverse edges: those into state i are into[first_into[i]] .. into[first_into[i + 1]] */
    uint32_t *first_into, *into, *source;
    /* the partition */
    uint32_t *elements, *place, *block;
    uint32_t *begin, *end; /* of each block in elements */
    bool *waiting;
    uint32_t n_blocks;
    struct regular_list work; /* blocks that wait */
    /* one splitter */
    struct regular_list entries; /* edges into it */
    struct regular_list order;   /* of the touched */
    struct regular_list touched;
};

struct touched { /* a state that enters the splitter, on entries[offset .. offset + length) */
    uint32_t state, offset, length;
    uint64_t hash;
};
#define TOUCHED(x) ((struct touched *)(x)->touched.items)
#define ENTRIES(x) ((struct power_regular_edge *)(x)->entries.items)

/* ---- dead states ---- */

static bool invert(struct minimiser *x) {
    const struct power_regular_edge *edges = MACHINE_EDGES(x->m);
    size_t n_edges = x->m->edges.count;
    x->first_into = power_regular_alloc(x->w, x->n + 1, sizeof *x->first_into);
    x->into = power_regular_alloc(x->w, n_edges, sizeof *x->into);
    x->source = power_regular_alloc(x->w, n_edges, sizeof *x->source);
    if (!x->first_into || !x->into || !x->source) return false;
    for (uint32_t i = 0; i < x->n; i++) {
        const struct power_regular_state *state = &MACHINE_STATES(x->m)[i];
        for (uint32_t e = 0; e < state->n_edges; e++) {
            x->source[state->first_edge + e] = i;
            x->first_into[edges[state->first_edge + e].to]++;
        }
    }
    for (size_t i = 1; i <= x->n; i++)
        x->first_into[i] += x->first_into[i - 1];
    for (size_t e = n_edges; e-- > 0;)
        x->into[--x->first_into[edges[e].to]] = (uint32_t)e;
    return power_regular_steps(x->w, n_edges);
}

/* Marks in `alive` what can reach acceptance, by a search backwards. */
static bool find_live(struct minimiser *x, bool *alive) {
    uint32_t *todo = power_regular_alloc(x->w, x->n, sizeof *todo);
    size_t n_todo = 0;
    if (!todo) return false;
    for (uint32_t i = 0; i < x->n; i++) {
        alive[i] = MACHINE_STATES(x->m)[i].accepts;
        if (alive[i]) todo[n_todo++] = i;
    }
    while (n_todo > 0) {
        uint32_t at = todo[--n_todo];
        for (uint32_t i = x->first_into[at]; i < x->first_into[at + 1]; i++) {
            uint32_t from = x->source[x->into[i]];
            if (alive[from]) continue;
            alive[from] = true;
            todo[n_todo++] = from;
        }
    }
    return true;
}

/* The same machine without dead states; *out_empty when the start is dead. */
static bool leave_dead_out(struct regular_work *w, struct regular_machine *m, bool *out_empty) {
    struct minimiser x = {.w = w, .m = m, .n = m->states.count};
    bool *alive = power_regular_alloc(w, x.n, sizeof *alive);
    uint32_t *number = power_regular_alloc(w, x.n, sizeof *number);
    if (!alive || !number || !invert(&x) || !find_live(&x, alive)) return false;
    *out_empty = !alive[0];
    uint32_t n = 0;
    for (size_t i = 0; i < x.n; i++)
        number[i] = alive[i] ? n++ : REGULAR_NONE;
    if (*out_empty || n == x.n) return true;
    struct regular_machine rest = {0};
    for (size_t i = 0; i < x.n; i++) {
        if (!alive[i]) continue;
        const struct power_regular_state *state = &MACHINE_STATES(m)[i];
        if (!power_machine_state(w, &rest)) return false;
        MACHINE_STATES(&rest)[number[i]].accepts = state->accepts;
        for (uint32_t e = 0; e < state->n_edges; e++) {
            struct power_regular_edge edge = MACHINE_EDGES(m)[state->first_edge + e];
            if (alive[edge.to] &&
                !power_machine_edge(w, &rest, number[i], edge.first, edge.last, number[edge.to]))
                return false;
        }
    }
    *m = rest;
    return true;
}

/* ---- the partition ---- */

static bool wait_for(struct minimiser *x, uint32_t block) {
    if (x->waiting[block]) return true;
    x->waiting[block] = true;
    return power_regular_push_u32(x->w, &x->work, block);
}

static bool first_partition(struct minimiser *x) {
    size_t n = x->n, low = 0, high = n;
    x->elements = power_regular_alloc(x->w, n, sizeof *x->elements);
    x->place = power_regular_alloc(x->w, n, sizeof *x->place);
    x->block = power_regular_alloc(x->w, n, sizeof *x->block);
    x->begin = power_regular_alloc(x->w, n, sizeof *x->begin);
    x->end = power_regular_alloc(x->w, n, sizeof *x->end);
    x->waiting = power_regular_alloc(x->w, n, sizeof *x->waiting);
    if (!x->elements || !x->place || !x->block || !x->begin || !x->end || !x->waiting) return false;
    for (uint32_t i = 0; i < n; i++) {
        size_t at = MACHINE_STATES(x->m)[i].accepts ? low++ : --high;
        x->elements[at] = i;
        x->place[i] = (uint32_t)at;
    }
    x->n_blocks = low < n ? 2 : 1; /* live: something accepts */
    x->end[0] = (uint32_t)low;
    if (x->n_blocks == 2) {
        x->begin[1] = (uint32_t)low;
        x->end[1] = (uint32_t)n;
    }
    for (size_t at = low; at < n; at++)
        x->block[x->elements[at]] = 1;
    return wait_for(x, 0) && (x->n_blocks == 1 || wait_for(x, 1));
}

/* The edges into the splitter as {source, first, last}, sorted so. */
static bool gather_entries(struct minimiser *x, uint32_t splitter) {
    x->entries.count = 0;
    for (uint32_t at = x->begin[splitter]; at < x->end[splitter]; at++) {
        uint32_t state = x->elements[at];
        uint32_t from = x->first_into[state], n = x->first_into[state + 1] - from;
        if (!power_regular_steps(x->w, n + 1)) return false;
        if (!power_regular_room(x->w, &x->entries, n, sizeof(struct power_regular_edge)))
            return false;
        for (uint32_t i = 0; i < n; i++) {
            uint32_t e = x->into[from + i];
            const struct power_regular_edge *edge = &MACHINE_EDGES(x->m)[e];
            ENTRIES(x)
            [x->entries.count++] =
                (struct power_regular_edge){x->source[e], edge->first, edge->last};
        }
    }
    struct power_regular_edge *entries = ENTRIES(x);
    return power_regular_sort_edges(x->w, entries, x->entries.count, REGULAR_BY_LAST) &&
           power_regular_sort_edges(x->w, entries, x->entries.count, REGULAR_BY_FIRST);
}

/* One of `touched` for each source; its entries become its ranges, merged where they touch. */
static bool gather_touched(struct minimiser *x) {
    struct power_regular_edge *entries = ENTRIES(x);
    size_t n = x->entries.count, i = 0;
    x->touched.count = 0;
    while (i < n) {
        struct touched t = {entries[i].first, (uint32_t)i, 0, 0};
        for (; i < n && entries[i].first == t.state; i++) {
            struct power_regular_edge range = {entries[i].last, entries[i].to, 0};
            struct power_regular_edge *kept = &entries[t.offset + t.length];
            if (t.length > 0 && kept[-1].last + 1 == range.first)
                kept[-1].last = range.last;
            else
                entries[t.offset + t.length++] = range;
        }
        for (uint32_t k = t.offset; k < t.offset + t.length; k++)
            t.hash = power_regular_mix(t.hash, (uint64_t)entries[k].first << 32 | entries[k].last);
        if (!power_regular_room(x->w, &x->touched, 1, sizeof t)) return false;
        TOUCHED(x)[x->touched.count++] = t;
    }
    return true;
}

/* Orders by block, then by the ranges: equal ones stand together. */
static int compare_touched(const struct minimiser *x, const struct touched *a,
                           const struct touched *b) {
    uint32_t block_a = x->block[a->state], block_b = x->block[b->state];
    if (block_a != block_b) return block_a < block_b ? -1 : 1;
    if (a->hash != b->hash) return a->hash < b->hash ? -1 : 1;
    if (a->length != b->length) return a->length < b->length ? -1 : 1;
    const struct power_regular_edge *entries = x->entries.items;
    for (uint32_t i = 0; i < a->length; i++) {
        const struct power_regular_edge *p = &entries[a->offset + i], *q = &entries[b->offset + i];
        if (p->first != q->first) return p->first < q->first ? -1 : 1;
        if (p->last != q->last) return p->last < q->last ? -1 : 1;
    }
    return 0;
}

static bool touched_before(const void *context, uint32_t a, uint32_t b) {
    const struct minimiser *x = context;
    return compare_touched(x, &TOUCHED(x)[a], &TOUCHED(x)[b]) < 0;
}

/* Moves the states of order[from .. to) out of their block into a new one. */
static void move_out(struct minimiser *x, size_t from, size_t to) {
    const uint32_t *order = x->order.items;
    uint32_t old = x->block[TOUCHED(x)[order[from]].state], made = x->n_blocks++;
    x->end[made] = x->end[old];
    for (size_t i = from; i < to; i++) {
        uint32_t state = TOUCHED(x)[order[i]].state, at = x->place[state];
        uint32_t last = --x->end[old], other = x->elements[last];
        x->elements[at] = other;
        x->place[other] = at;
        x->elements[last] = state;
        x->place[state] = last;
        x->block[state] = made;
    }
    x->begin[made] = x->end[old];
}

/* The block and the new ones from `made` on are its parts. */
static bool queue_parts(struct minimiser *x, uint32_t block, uint32_t made) {
    uint32_t spared = REGULAR_NONE; /* the largest, unless all of the block waited anyway */
    if (!x->waiting[block]) {
        spared = block;
        for (uint32_t b = made; b < x->n_blocks; b++) {
            if (x->end[b] - x->begin[b] > x->end[spared] - x->begin[spared]) spared = b;
        }
        if (spared != block && !wait_for(x, block)) return false;
    }
    for (uint32_t b = made; b < x->n_blocks; b++) {
        if (b != spared && !wait_for(x, b)) return false;
    }
    return true;
}

/* order[from .. to) are the touched states of one block. */
static bool split_block(struct minimiser *x, size_t from, size_t to) {
    const uint32_t *order = x->order.items;
    uint32_t block = x->block[TOUCHED(x)[order[from]].state], made = x->n_blocks;
    size_t size = x->end[block] - x->begin[block];
    size_t group = from;
    for (size_t i = from + 1; i <= to; i++) {
        bool same =
            i < to && compare_touched(x, &TOUCHED(x)[order[group]], &TOUCHED(x)[order[i]]) == 0;
        if (same) continue;
        /* the last group stays where nothing else does */
        if (i < to || size > to - from) move_out(x, group, i);
        group = i;
    }
    return made == x->n_blocks || queue_parts(x, block, made);
}

static bool split_by(struct minimiser *x, uint32_t splitter) {
    if (!gather_entries(x, splitter) || !gather_touched(x)) return false;
    size_t n = x->touched.count;
    x->order.count = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!power_regular_push_u32(x->w, &x->order, i)) return false;
    }
    if (!power_regular_sort_by(x->w, x->order.items, n, touched_before, x)) return false;
    const uint32_t *order = x->order.items;
    for (size_t from = 0; from < n;) {
        uint32_t block = x->block[TOUCHED(x)[order[from]].state];
        size_t to = from + 1;
        while (to < n && x->block[TOUCHED(x)[order[to]].state] == block)
            to++;
        if (!split_block(x, from, to)) return false;
        from = to;
    }
    return true;
}

/* ---- the result ---- */

/* Edges of a block as those of one of its states, into numbered blocks; `number` gives a block its
 * place in breadth-first order and `blocks` lists them so. */
struct result {
    uint32_t *number, *blocks, n;
    struct regular_machine machine;
};

static bool write_block(struct minimiser *x, struct result *r, uint32_t at) {
    uint32_t state = x->elements[x->begin[r->blocks[at]]];
    const struct power_regular_state *from = &MACHINE_STATES(x->m)[state];
    if (!power_machine_state(x->w, &r->machine)) return false;
    MACHINE_STATES(&r->machine)[at].accepts = from->accepts;
    for (uint32_t e = 0; e < from->n_edges; e++) {
        struct power_regular_edge edge = MACHINE_EDGES(x->m)[from->first_edge + e];
        uint32_t block = x->block[edge.to];
        if (r->number[block] == 0) {
            r->blocks[r->n++] = block;
            r->number[block] = r->n; /* plus one */
        }
        if (!power_machine_edge(x->w, &r->machine, at, edge.first, edge.last, r->number[block] - 1))
            return false;
    }
    return true;
}

static bool write_result(struct regular_work *w, const struct regular_machine *m,
                         struct power_regular *out) {
    size_t n_states = m->states.count, n_edges = m->edges.count;
    if (n_states > w->max_states || n_edges / REGULAR_EDGES_A_STATE > w->max_states)
        return power_regular_too_large(w);
    struct power_arena *arena = w->space->arena;
    size_t bytes = n_states * sizeof *out->states + n_edges * sizeof *out->edges;
    struct power_regular_state *states = power_arena_alloc(arena, n_states, sizeof *states);
    struct power_regular_edge *edges = power_arena_alloc(arena, n_edges, sizeof *edges);
    if (!states || !edges) {
        bool full = arena->max_bytes - arena->used_bytes < bytes + 32;
        return power_regular_fault(w, full ? POWER_LIMIT : POWER_NO_MEMORY,
                                   "no room for an automaton of %zu bytes", bytes);
    }
    if (n_states) memcpy(states, m->states.items, n_states * sizeof *states);
    if (n_edges) memcpy(edges, m->edges.items, n_edges * sizeof *edges);
    *out = (struct power_regular){states, edges, (uint32_t)n_states, (uint32_t)n_edges};
    return true;
}

bool power_machine_finish(struct regular_work *w, struct regular_machine *m,
                          struct power_regular *out) {
    bool empty;
    if (!leave_dead_out(w, m, &empty)) return false;
    if (empty) {
        *out = (struct power_regular){0};
        return true;
    }
    struct minimiser x = {.w = w, .m = m, .n = m->states.count};
    if (!invert(&x) || !first_partition(&x)) return false;
    while (x.work.count > 0) {
        uint32_t block = ((uint32_t *)x.work.items)[--x.work.count];
        x.waiting[block] = false;
        if (!split_by(&x, block)) return false;
    }
    struct result r = {.n = 1};
    r.number = power_regular_alloc(w, x.n_blocks, sizeof *r.number);
    r.blocks = power_regular_alloc(w, x.n_blocks, sizeof *r.blocks);
    if (!r.number || !r.blocks) return false;
    r.blocks[0] = x.block[0];
    r.number[x.block[0]] = 1;
    for (uint32_t at = 0; at < r.n; at++) {
        if (!write_block(&x, &r, at)) return false;
    }
    return write_result(w, &r.machine, out);
}
