/* SPDX-License-Identifier: MIT */
/* States of a matcher: sets of places in the grammar, each with what is still open around it.
 * Input: places. Output: numbers, equal for equal content. Owner: one matcher.
 * Threads: one. Bounds: max_bytes and max_open of the matcher; what nothing holds is dropped by
 * power_states_collect.
 *
 * A place is (local, frame). A local is a node of the program or a dynamic one: a cursor in an
 * automaton over code points, a count, a point in an object. A frame is the set of places where the
 * text goes on after the callable at work has ended: (local, outer frame) pairs. Frames are made
 * once for a callable and a position, with all its callers, so ambiguity shares them instead of
 * multiplying stacks. Locals, frames, payloads and texts are immutable and interned: equal ones
 * have one number, and what a frame refers to has a smaller number than itself. */
#ifndef POWER_TEXT_STATE_H
#define POWER_TEXT_STATE_H

#include "text/constraint/matcher.h"
#include "text/constraint/program.h"
#include "text/constraint/token_trie.h"

struct power_interned {
    const uint32_t *words;
    uint32_t n, hash;
};
struct power_intern {
    struct power_interned *entries;
    uint32_t n, room;
    uint32_t *slots; /* entry + 1; 0 is free */
    uint32_t n_slots;
};

enum power_local_kind {
    POWER_LOCAL_CURSOR,  /* regular ref, state a, spelling b */
    POWER_LOCAL_QUOTED,  /* the same, up to the closing quote */
    POWER_LOCAL_COUNTED, /* counted ref, a repeats so far */
    POWER_LOCAL_OPEN,    /* object ref: before the first member */
    POWER_LOCAL_AFTER,   /* after a member */
    POWER_LOCAL_KEY,     /* a key must come */
    POWER_LOCAL_NAMED,   /* in a named key: keys a .. b agree in c bytes */
    POWER_LOCAL_CLASS,   /* in a key of class d: state a, spelling b, text c so far */
    POWER_LOCAL_COLON,   /* behind the key; a: callable of the value */
    POWER_LOCAL_VALUE
};
struct power_local {
    uint32_t kind, ref, payload, a, b, c, d;
};
#define POWER_LOCAL_WORDS 7

struct power_place {
    uint32_t local, frame;
};

enum { POWER_FRAME_ROOT = 0, POWER_FRAME_HOLE = 1 };

enum {
    POWER_STATE_END = 1,    /* the text may end */
    POWER_STATE_HOLE = 2,   /* the frame POWER_FRAME_HOLE may go on */
    POWER_STATE_CLASS = 4,  /* in a key whose text matters */
    POWER_STATE_UNSURE = 8, /* see power_states_step: asks for an exact walk */
    POWER_STATE_KEYED = POWER_STATE_END | POWER_STATE_HOLE | POWER_STATE_UNSURE
};
/* State numbers in `next`: 0 is not known yet, 1 is no state. */
enum { POWER_STATE_UNKNOWN = 0, POWER_STATE_DEAD = 1, POWER_STATE_FIRST = 2 };

#define POWER_FEW_BYTES 6

struct power_state {
    struct power_place *items; /* sorted; each can read a byte */
    uint32_t n_items, refs, hash;
    uint32_t mask; /* slot + 1 */
    uint32_t flags;
    uint32_t n_few; /* bytes that can follow, when they are few; else 0 */
    unsigned char few[POWER_FEW_BYTES + 2];
    uint64_t maybe[4]; /* bytes that can follow, and perhaps some that cannot */
    uint32_t *next;    /* 256, or n_few */
    uint32_t *exits;   /* see mask.c */
    uint32_t n_exits;
    bool live;
};

struct power_pending_call {
    uint64_t order; /* of the callable, and its number */
    uint32_t local, frame;
};

struct power_seen {
    uint64_t place;
    uint32_t stamp;
};

struct power_mask_slot {
    uint64_t *words;
    uint32_t count, only;
    uint32_t state; /* owner, 0 for none */
    bool used_again;
};

/* What each token does inside a JSON string of any number of code points of one label
 * (program.h). */
struct power_label_tokens {
    uint32_t regular, label; /* whose state `label` it is; label + 1, 0: free */
    /* Tokens that stay inside, by the code points they take: those of k are [from[k], from[k + 1])
     * of by_length. */
    uint32_t *by_length, from[POWER_TRIE_MAX_BYTES + 2];
    uint64_t *all; /* mask of them all */
    struct power_trie_exit *exits,
        *closers; /* as in token_trie.h, nodes of the tree of all tokens */
    uint32_t n_exits, n_closers, exits_room, closers_room;
};
#define POWER_LABELS 8 /* kept at once */

struct power_matcher {
    const power_allocator *allocator;
    const struct power_grammar *grammar;
    const struct power_token_trie *trie;
    size_t max_state_bytes;
    uint32_t max_open;
    power_status status; /* of the call under way */
    power_error *error;

    struct power_arena arena; /* words, items, tables */
    size_t table_bytes;       /* outside the arena */
    size_t bytes_after_collect;
    struct power_intern locals, frames, payloads, texts;
    struct power_state *states;
    uint32_t n_states, states_room;
    uint32_t *state_slots, n_state_slots; /* state number; 0 is free */
    uint32_t *free_states, n_free_states, free_states_room;
    uint32_t start;
    bool exact;        /* the step under way keeps texts of keys */
    bool out_of_bytes; /* the failure of this call is that max_state_bytes is used up */

    /* work of one step */
    struct power_place *work, *items, *pairs;
    uint32_t n_work, work_room, n_items, items_room, n_pairs, pairs_room;
    struct power_pending_call *calls; /* heap by order */
    uint32_t n_calls, calls_room;
    struct power_seen *seen;
    uint32_t n_seen, seen_room, stamp;
    uint32_t flags;
    uint32_t *words; /* payload being built */
    uint32_t words_room;

    /* mask.c */
    struct power_mask_slot *masks;
    uint32_t n_masks, next_mask;
    uint32_t *path; /* states by depth of the trie */
    uint32_t *found, n_found, found_room;
    struct power_label_tokens labels[POWER_LABELS];
    uint32_t next_label;
};

/* ---- state.c ---- */

bool power_states_init(struct power_matcher *m);
/* The first entries of new tables in a new arena. */
bool power_states_begin(struct power_matcher *m);
/* The index of the states that are live; needs no memory. */
void power_states_rehash(struct power_matcher *m);
void power_states_finish(struct power_matcher *m);
size_t power_states_bytes(const struct power_matcher *m);
/* Drops every state without references and what only those use. Without memory for the copies all
 * stays as it was. */
bool power_states_collect(struct power_matcher *m);
/* Notes the failure of the call under way; always false. */
bool power_states_fail(struct power_matcher *m, power_status status, const char *format, ...)
    POWER_PRINTF(3, 4);
/* Number of the words, interned; UINT32_MAX on failure. With `add` false: UINT32_MAX when new. */
uint32_t power_states_intern(struct power_matcher *m, struct power_intern *in,
                             const uint32_t *words, uint32_t n, bool add);
/* Memory of the states; NULL after noting the failure. */
void *power_states_alloc(struct power_matcher *m, size_t count, size_t size);
/* Grows work space; false after noting the failure. */
void *power_states_room(struct power_matcher *m, void *items, uint32_t *room, uint32_t count,
                        size_t size);
#define POWER_STATES_ROOM(m, name)                                                                 \
    ((m)->name =                                                                                   \
         power_states_room((m), (m)->name, &(m)->name##_room, (m)->n_##name, sizeof *(m)->name),   \
     (m)->status == POWER_OK)
/* The state of m->items (n_items, unsorted, distinct) and m->flags; POWER_STATE_DEAD for nothing,
 * 0 on failure. */
uint32_t power_states_make(struct power_matcher *m);

static inline const struct power_local *power_local_of(const struct power_matcher *m,
                                                       uint32_t local) {
    return (const struct power_local *)(const void *)m->locals.entries[local - m->grammar->n_nodes]
        .words;
}
static inline uint32_t power_local_make(struct power_matcher *m, struct power_local local) {
    const uint32_t words[POWER_LOCAL_WORDS] = {local.kind, local.ref, local.payload, local.a,
                                               local.b,    local.c,   local.d};
    uint32_t index = power_states_intern(m, &m->locals, words, POWER_LOCAL_WORDS, true);
    return index == UINT32_MAX ? 0 : m->grammar->n_nodes + index;
}
/* Pairs of a frame that is neither of the two first. */
static inline const struct power_place *power_frame_pairs(const struct power_matcher *m,
                                                          uint32_t frame, uint32_t *out_n) {
    const struct power_interned *entry = &m->frames.entries[frame];
    *out_n = (entry->n - 1) / 2;
    return (const struct power_place *)(const void *)(entry->words + 1);
}
static inline uint32_t power_frame_depth(const struct power_matcher *m, uint32_t frame) {
    return frame <= POWER_FRAME_HOLE ? 0 : m->frames.entries[frame].words[0];
}

/* ---- advance.c ---- */

/* The state after one byte: POWER_STATE_DEAD, or 0 on failure. Results are kept. Where the text of
 * a key matters, the step of a mask walk does not remember it beyond what tells it apart from keys
 * used before (else every token would leave states behind); a place that would need it is marked
 * POWER_STATE_UNSURE. With `exact` texts are remembered and that state is not shared. */
uint32_t power_states_step_new(struct power_matcher *m, uint32_t state, unsigned char byte,
                               bool exact);
static inline uint32_t power_states_step(struct power_matcher *m, uint32_t state,
                                         unsigned char byte) {
    const struct power_state *s = &m->states[state];
    if (!(s->maybe[byte >> 6] >> (byte & 63) & 1)) return POWER_STATE_DEAD;
    if (s->next && !s->n_few && s->next[byte]) return s->next[byte];
    return power_states_step_new(m, state, byte, false);
}
/* The state that a frame goes on in. */
uint32_t power_states_of_frame(struct power_matcher *m, uint32_t frame);
uint32_t power_states_of_callable(struct power_matcher *m, uint32_t callable);
/* The same items inside the frame POWER_FRAME_HOLE instead of their own. */
uint32_t power_states_inside(struct power_matcher *m, uint32_t state);

void power_advance_visit(struct power_matcher *m, uint32_t local, uint32_t frame);
void power_advance_call(struct power_matcher *m, uint32_t callable, uint32_t back, uint32_t frame);
void power_advance_end(struct power_matcher *m, uint32_t frame);
void power_advance_item(struct power_matcher *m, uint32_t local, uint32_t frame);

/* ---- cursor.c ---- */

enum { POWER_SPELL_START = 0 }; /* between code points */
struct power_cursor {
    uint32_t state, spelling;
};
/* One byte: false when the automaton has nothing with it. */
bool power_cursor_step(const struct power_program_regular *r, struct power_cursor *cursor,
                       unsigned char byte);
void power_cursor_maybe(const struct power_program_regular *r, struct power_cursor cursor,
                        uint64_t set[4]);
/* Texts from here to acceptance, saturating at UINT64_MAX. */
uint64_t power_cursor_count(const struct power_program_regular *r, struct power_cursor cursor);

/* ---- object.c ---- */

uint32_t power_object_start(struct power_matcher *m, uint32_t object);
/* Closure of a local of an object. */
void power_object_open(struct power_matcher *m, uint32_t local, uint32_t frame);
void power_object_step(struct power_matcher *m, uint32_t local, uint32_t frame, unsigned char byte);
void power_object_maybe(const struct power_matcher *m, uint32_t local, uint64_t set[4]);

/* ---- trie_string.c ---- */

/* A place in a JSON string: a cursor in the text's automaton, and code points completed. */
struct power_string_place {
    struct power_cursor cursor;
    uint32_t n;
    bool closed;
};
bool power_string_step(const struct power_program_regular *text,
                       const struct power_string_place *from, unsigned char byte,
                       struct power_string_place *to);

/* ---- label.c ---- */

/* The tokens of state `label` of a regular with encoding POWER_AS_JSON, found once. *out is NULL
 * where there is no room for them; false on failure. */
bool power_labels_get(struct power_matcher *m, uint32_t regular, uint32_t label,
                      const struct power_label_tokens **out);
void power_labels_finish(struct power_matcher *m);

/* ---- mask.c ---- */

bool power_masks_init(struct power_matcher *m, size_t max_bytes);
void power_masks_finish(struct power_matcher *m);
void power_masks_forget(struct power_matcher *m);
/* The slot of the state's mask; NULL on failure. */
struct power_mask_slot *power_masks_get(struct power_matcher *m, uint32_t state);

#endif
