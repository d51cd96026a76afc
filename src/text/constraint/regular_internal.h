/* SPDX-License-Identifier: MIT */
/* What the parts of regular.h share: work memory, sets of code points, automata in the making.
 * Input: the operations' operands. Output: a machine, then the trimmed, minimal, numbered result.
 * Threads: one an operation. Bounds: work memory, states, edges and steps of each operation; the
 * stack is constant. */
#ifndef POWER_TEXT_REGULAR_INTERNAL_H
#define POWER_TEXT_REGULAR_INTERNAL_H

#include "base/error.h"
#include "text/constraint/regular.h"

#define REGULAR_NONE UINT32_MAX
#define REGULAR_LAST_CODE 0x10FFFFu
#define REGULAR_DEFAULT_STATES 20000u
#define REGULAR_EDGES_A_STATE 64u /* of the limit: edges of a result are at most this often it */
#define REGULAR_WORK_FACTOR 8u    /* states before minimisation, of the limit */
#define REGULAR_NFA_FACTOR 16u    /* states of what is made deterministic, of the limit */
#define REGULAR_WORK_BYTES ((size_t)256 << 20)
#define REGULAR_STEPS UINT64_C(60000000) /* visits of edges and set members: about a second */

/* ---- one operation: its memory, limits and first fault ---- */

/* A growing array in the work memory. */
struct regular_list {
    void *items;
    size_t count, capacity;
};

struct regular_work {
    const struct power_regular_space *space;
    struct power_arena arena; /* work memory, returned as a whole */
    uint32_t max_states;
    uint64_t steps_left;
    struct regular_list sorting; /* room for sorting */
    power_status status;
    power_error *error;
};

void power_regular_begin(struct regular_work *w, const struct power_regular_space *space,
                         power_error *error);
/* Returns the work memory; gives the status. */
power_status power_regular_end(struct regular_work *w);
/* Faults are kept once; all return false. */
bool power_regular_fault(struct regular_work *w, power_status status, const char *format, ...)
    POWER_PRINTF(3, 4);
bool power_regular_too_large(struct regular_work *w);
bool power_regular_steps(struct regular_work *w, uint64_t n);
void *power_regular_alloc(struct regular_work *w, size_t count, size_t size);

/* Room for `more` items behind `count`; false after a fault. */
bool power_regular_room(struct regular_work *w, struct regular_list *list, size_t more,
                        size_t item_bytes);
bool power_regular_push_u32(struct regular_work *w, struct regular_list *list, uint32_t value);

/* By digits: linear in n. Edges with equal keys stay in their order. */
bool power_regular_sort_u32(struct regular_work *w, uint32_t *items, size_t n);
enum regular_key { REGULAR_BY_FIRST, REGULAR_BY_LAST };
bool power_regular_sort_edges(struct regular_work *w, struct power_regular_edge *edges, size_t n,
                              enum regular_key key);
/* A heap sort. */
typedef bool (*regular_before)(const void *context, uint32_t a, uint32_t b);
bool power_regular_sort_by(struct regular_work *w, uint32_t *items, size_t n, regular_before before,
                           const void *context);
uint64_t power_regular_mix(uint64_t hash, uint64_t value);

/* Sequences of numbers, each known by its number; equal ones have one. */
struct regular_interner {
    struct regular_list words, entries;
    uint32_t *slots;
    size_t n_slots;
};
/* REGULAR_NONE after a fault. `words` is not the interner's own. */
uint32_t power_regular_intern(struct regular_work *w, struct regular_interner *in,
                              const uint32_t *words, size_t n);
/* Valid until the next sequence is added. */
const uint32_t *power_regular_interned(const struct regular_interner *in, uint32_t number,
                                       size_t *out_length);

/* ---- sets of code points: ranges, as edges whose `to` means nothing ---- */

struct regular_set {
    struct regular_list ranges;
};
#define REGULAR_RANGES(set) ((struct power_regular_edge *)(set)->ranges.items)

bool power_regular_set_add(struct regular_work *w, struct regular_set *set, uint32_t first,
                           uint32_t last);
/* Sorts, merges, leaves surrogates out. Sets are normal before they are used or negated. */
bool power_regular_set_normalise(struct regular_work *w, struct regular_set *set);
bool power_regular_set_negate(struct regular_work *w, struct regular_set *set);

/* ---- automata in the making ---- */

enum regular_kind { REGULAR_EDGE, REGULAR_OTHER, REGULAR_WORD, REGULAR_UNKNOWN };
/* of what stands before or after a place: no character, one that is no word's, a word's */
enum { REGULAR_KINDS = 3 };

enum regular_condition { /* of a move without a character */
                         REGULAR_ALWAYS,
                         REGULAR_AT_START,
                         REGULAR_AT_END,
                         REGULAR_AT_WORD,   /* \b */
                         REGULAR_NOT_WORD,  /* \B */
                         REGULAR_CONDITIONS /* and from here on: lookahead number 0, 1, ... */
};

struct nfa_look { /* what the rest of the text must be in, by the kind of the character before */
    struct power_regular rest[REGULAR_KINDS];
};

struct nfa_state {
    const struct power_regular_edge *edges;
    uint32_t n_edges;
    uint32_t to; /* where all edges lead; REGULAR_NONE: to edge.to + base */
    uint32_t base;
    uint32_t jumps; /* moves without a character: a list, REGULAR_NONE at its end */
    bool accepts;
    bool everything; /* accepts every text from here */
    bool alive;      /* set by the determiniser: acceptance can be reached, not at the start */
};
struct nfa_jump {
    uint32_t to, next;
    uint32_t condition;
};
struct nfa {
    struct regular_work *w;
    struct regular_list states, jumps;
    bool has[REGULAR_CONDITIONS + 1]; /* the last: lookaheads */
    const struct nfa_look *looks;
    bool looks_at_words; /* a lookahead asks whether a word stands before it */
};
#define NFA_STATES(nfa) ((struct nfa_state *)(nfa)->states.items)
#define NFA_JUMPS(nfa) ((struct nfa_jump *)(nfa)->jumps.items)

void power_nfa_init(struct nfa *nfa, struct regular_work *w);
/* REGULAR_NONE after a fault. State 0 is the start. */
uint32_t power_nfa_state(struct nfa *nfa);
bool power_nfa_jump(struct nfa *nfa, uint32_t from, uint32_t to, uint32_t condition);
/* A copy of `a` (not empty); its accepting states jump to `then`. Gives its start. */
uint32_t power_nfa_copy(struct nfa *nfa, const struct power_regular *a, uint32_t then);
/* Every character; a state that accepts all that follows. */
void power_nfa_any(struct nfa *nfa, uint32_t from, uint32_t to);
uint32_t power_nfa_everything(struct nfa *nfa);

/* Deterministic, perhaps with states that are dead or equal. State 0 is the start. */
struct regular_machine {
    struct regular_list states; /* of struct power_regular_state */
    struct regular_list edges;  /* of struct power_regular_edge, those of a state together */
};
#define MACHINE_STATES(m) ((struct power_regular_state *)(m)->states.items)
#define MACHINE_EDGES(m) ((struct power_regular_edge *)(m)->edges.items)

/* A further state, and room for it: false beyond the limit. */
bool power_machine_state(struct regular_work *w, struct regular_machine *m);
/* An edge of the state that is being written; merged with the one before where it continues it. */
bool power_machine_edge(struct regular_work *w, struct regular_machine *m, uint32_t state,
                        uint32_t first, uint32_t last, uint32_t to);

/* Where a match stands: a state, and with lookaheads under way the duties that they leave: states
 * of their automata, which the rest of the text must satisfy all. Places have numbers; that of a
 * state without duties is the state's. */
struct nfa_places {
    struct regular_work *w;
    const struct nfa *nfa;
    struct regular_interner places; /* {state, list of duties}; numbered behind the states */
    struct regular_interner lists;  /* {automaton, state, ...} in order; list 0 is empty */
    struct regular_list scratch;
};
bool power_places_init(struct nfa_places *p, const struct nfa *nfa);
static inline bool power_place_is_plain(const struct nfa_places *p, uint32_t place) {
    return place < p->nfa->states.count;
}
uint32_t power_place_state(const struct nfa_places *p, uint32_t place);
bool power_place_accepts(const struct nfa_places *p, uint32_t place);
/* The place `to` with the duties of `place` and, unless `look` is REGULAR_NONE, that lookahead's.
 * *out is REGULAR_NONE where no text can satisfy it. False after a fault. */
bool power_place_jump(struct nfa_places *p, uint32_t place, uint32_t to, uint32_t look,
                      enum regular_kind before, uint32_t *out);
/* From a place that has duties to state `to` on the characters from `first` on, up to *last, which
 * is lowered to where the outcome changes. *out as above. */
bool power_place_step(struct nfa_places *p, uint32_t place, uint32_t to, uint32_t first,
                      uint32_t *last, uint32_t *out);

/* The subset construction, the text before being of the kind `before`. */
bool power_nfa_determine(struct nfa *nfa, enum regular_kind before, struct regular_machine *out);
/* Leaves out dead states, merges equal ones, numbers them in breadth-first order and writes the
 * result into the space's arena: equal languages give equal automata. */
bool power_machine_finish(struct regular_work *w, struct regular_machine *m,
                          struct power_regular *out);
/* Both for the automaton nfa. */
bool power_nfa_finish(struct nfa *nfa, struct power_regular *out);
/* Where a character leads; REGULAR_NONE: nowhere. *last is lowered to where that changes. */
uint32_t power_regular_step(const struct power_regular *a, uint32_t state, uint32_t code,
                            uint32_t *last);

/* One code point of the set. */
power_status power_regular_one_of(const struct power_regular_space *space,
                                  const struct power_regular_edge *ranges, size_t n,
                                  struct power_regular *out, power_error *error) POWER_MUST_USE;

#endif
