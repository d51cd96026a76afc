/* SPDX-License-Identifier: MIT */
/* The calls of a matcher: places, masks, moving on.
 * Input: a frozen grammar, a tree of tokens, tokens and bytes. Output: masks, new places.
 * Threads: one a matcher. Bounds: max_bytes: half for states, a quarter for masks, a quarter for
 * label.c; states without a match are dropped when five eighths of theirs are used, and when a call
 * needs more. */
#include "text/constraint/state.h"

#define DEFAULT_MAX_BYTES ((size_t)64 << 20)
enum { DEFAULT_MAX_OPEN = 10000 };

static void begin_call(struct power_matcher *m, power_error *error) {
    m->status = POWER_OK;
    m->out_of_bytes = false;
    m->error = error;
    size_t bytes = power_states_bytes(m);
    if (bytes > m->max_state_bytes / 8 * 5 &&
        bytes - m->bytes_after_collect > m->max_state_bytes / 8) {
        power_states_collect(m);
    }
}

/* After a call that met the limit of bytes: true when dropping states made it worth another try. */
static bool try_again(struct power_matcher *m) {
    size_t before = power_states_bytes(m);
    if (!m->out_of_bytes || before <= m->bytes_after_collect) return false;
    power_status status = m->status;
    m->status = POWER_OK;
    m->out_of_bytes = false;
    if (!power_states_collect(m)) return false;
    if (power_states_bytes(m) < before / 4 * 3) return true;
    m->status = status;
    return false;
}

static power_status check_bytes(const struct power_grammar *g, const struct power_token_trie *trie,
                                power_error *error) {
    for (uint32_t b = 0; b < 256; b++) {
        uint64_t bit = UINT64_C(1) << (b & 63);
        if (!(g->bytes_used[b >> 6] & bit) || trie->single_bytes[b >> 6] & bit) continue;
        return power_fail(error, POWER_UNSUPPORTED,
                          "the constraint asks for the byte 0x%02x, for which the vocabulary has "
                          "no token",
                          b);
    }
    return POWER_OK;
}

static power_status start(struct power_matcher *m, power_error *error) {
    m->error = error;
    if (!power_states_init(m)) return m->status;
    m->start = power_states_of_callable(m, m->grammar->root);
    if (m->status != POWER_OK) return m->status;
    m->states[m->start].refs = 1;
    m->bytes_after_collect = power_states_bytes(m);
    return POWER_OK;
}

power_status power_matcher_create(const power_allocator *allocator,
                                  const struct power_grammar *grammar,
                                  const struct power_token_trie *trie,
                                  const struct power_matcher_limits *limits,
                                  struct power_matcher **out, power_error *error) {
    if (!grammar->frozen) return power_fail(error, POWER_STATE, "the grammar is not frozen");
    power_status status = check_bytes(grammar, trie, error);
    if (status != POWER_OK) return status;
    struct power_matcher *m = power_alloc(allocator, 1, sizeof *m);
    if (!m) return power_fail_memory(error, sizeof *m, "a matcher");
    size_t max_bytes = limits && limits->max_bytes ? limits->max_bytes : DEFAULT_MAX_BYTES;
    m->allocator = allocator;
    m->grammar = grammar;
    m->trie = trie;
    m->max_open = limits && limits->max_open ? limits->max_open : DEFAULT_MAX_OPEN;
    m->max_state_bytes = max_bytes / 2;
    if (!power_masks_init(m, max_bytes / 4)) {
        status = power_fail_memory(error, sizeof *m, "a matcher");
    } else {
        status = start(m, error);
    }
    m->error = NULL;
    if (status != POWER_OK) {
        power_matcher_destroy(m);
        return status;
    }
    *out = m;
    return POWER_OK;
}

void power_matcher_destroy(struct power_matcher *matcher) {
    if (!matcher) return;
    power_masks_finish(matcher);
    power_states_finish(matcher);
    power_release(matcher->allocator, matcher, 1, sizeof *matcher);
}

/* ---- places ---- */

struct power_match power_matcher_fork(struct power_matcher *matcher, struct power_match match) {
    matcher->states[match.state].refs++;
    return match;
}

struct power_match power_matcher_start(struct power_matcher *matcher) {
    return power_matcher_fork(matcher, (struct power_match){matcher->start});
}

void power_matcher_release(struct power_matcher *matcher, struct power_match match) {
    matcher->states[match.state].refs--;
}

bool power_matcher_can_end(const struct power_matcher *matcher, struct power_match match) {
    return matcher->states[match.state].flags & POWER_STATE_END;
}

/* ---- masks ---- */

power_status power_matcher_mask(struct power_matcher *matcher, struct power_match match,
                                const uint64_t **out_mask, uint32_t *out_count, uint32_t *out_only,
                                power_error *error) {
    begin_call(matcher, error);
    if (matcher->status != POWER_OK) return matcher->status;
    const struct power_mask_slot *slot = power_masks_get(matcher, match.state);
    if (!slot && try_again(matcher)) slot = power_masks_get(matcher, match.state);
    if (!slot) return matcher->status;
    *out_mask = slot->words;
    *out_count = slot->count;
    *out_only = slot->only;
    return POWER_OK;
}

/* ---- moving on ---- */

/* The state behind the bytes: POWER_STATE_DEAD where they do not fit, 0 on failure. */
static uint32_t run(struct power_matcher *m, uint32_t state, struct power_text bytes) {
    for (size_t i = 0; i < bytes.length && state > POWER_STATE_DEAD; i++)
        state = power_states_step_new(m, state, (unsigned char)bytes.bytes[i], true);
    return state;
}

/* In stretches, each of which may drop what the one before has left. */
static uint32_t run_long(struct power_matcher *m, uint32_t state, struct power_text bytes) {
    enum { STRETCH = 256 };
    m->states[state].refs++;
    while (bytes.length && state > POWER_STATE_DEAD) {
        size_t n = bytes.length < STRETCH ? bytes.length : STRETCH;
        struct power_text part = {bytes.bytes, n};
        begin_call(m, m->error);
        uint32_t next = run(m, state, part);
        if (next == POWER_STATE_UNKNOWN && try_again(m)) next = run(m, state, part);
        m->states[state].refs--;
        state = next;
        m->states[state].refs++;
        bytes = (struct power_text){bytes.bytes + n, bytes.length - n};
    }
    m->states[state].refs--;
    return state;
}

static power_status refuse(power_error *error, struct power_text bytes) {
    struct power_quoted text = power_quote(bytes.bytes, bytes.length);
    return power_fail(error, POWER_INVALID, "\"%s\" does not fit the constraint here", text.text);
}

power_status power_matcher_accept_bytes(struct power_matcher *matcher, struct power_match *match,
                                        struct power_text bytes, power_error *error) {
    begin_call(matcher, error);
    if (matcher->status != POWER_OK) return matcher->status;
    uint32_t state = run_long(matcher, match->state, bytes);
    if (state == POWER_STATE_UNKNOWN) return matcher->status;
    if (state == POWER_STATE_DEAD) return refuse(error, bytes);
    matcher->states[state].refs++;
    matcher->states[match->state].refs--;
    match->state = state;
    return POWER_OK;
}

power_status power_matcher_accept(struct power_matcher *matcher, struct power_match *match,
                                  uint32_t id, power_error *error) {
    const struct power_token_trie *trie = matcher->trie;
    if (id >= trie->n_tokens) {
        return power_fail(error, POWER_INVALID, "token %u, the vocabulary has %u", id,
                          trie->n_tokens);
    }
    if (trie->end_mask[id / 64] >> (id % 64) & 1) {
        if (power_matcher_can_end(matcher, *match)) return POWER_OK;
        return power_fail(error, POWER_INVALID, "the constraint cannot end here");
    }
    struct power_text bytes = trie->pieces[id];
    if (bytes.length == 0) {
        return power_fail(error, POWER_INVALID, "token %u takes no part in constrained text", id);
    }
    return power_matcher_accept_bytes(matcher, match, bytes, error);
}

power_status power_matcher_accepts(struct power_matcher *matcher, struct power_text text,
                                   bool *out_accepts, power_error *error) {
    begin_call(matcher, error);
    if (matcher->status != POWER_OK) return matcher->status;
    uint32_t state = run_long(matcher, matcher->start, text);
    if (state == POWER_STATE_UNKNOWN) return matcher->status;
    *out_accepts = matcher->states[state].flags & POWER_STATE_END;
    return POWER_OK;
}
