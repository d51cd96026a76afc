/* SPDX-License-Identifier: MIT */
/* A generation under a constraint. Input: options, ids. Output: masks.
 * Before the constraint begins the model writes freely, but may not end: an answer without the text
 * after which the constraint begins would be no text of the language.
 * Threads: one at a time. Bounds: as the header says. */
#include "engine/constrain.h"

#include <string.h>

static void clear_bit(uint64_t *mask, uint32_t n, uint32_t id) {
    if (id < n) mask[id / 64] &= ~(1ull << id % 64);
}

static power_status make_masks(struct power_constrained *c, const power_generate_options *options,
                               power_error *error) {
    const struct power_vocab_info *info = power_vocab_info(c->vocab);
    c->n_tokens = info->n_tokens;
    c->n_words = c->n_tokens / 64 + 1;
    c->free_mask = power_alloc(c->allocator, c->n_words, sizeof *c->free_mask);
    c->here = power_alloc(c->allocator, c->n_words, sizeof *c->here);
    if (!c->free_mask || !c->here) {
        return power_fail_memory(error, c->n_words * sizeof *c->here, "a constraint's masks");
    }
    memset(c->free_mask, 0xff, c->n_words * sizeof *c->free_mask);
    c->free_mask[c->n_words - 1] = (1ull << c->n_tokens % 64) - 1;
    for (uint32_t i = 0; i < info->n_end_tokens; i++)
        clear_bit(c->free_mask, c->n_tokens, info->end_tokens[i]);
    for (size_t i = 0; i < options->n_stop_ids; i++)
        clear_bit(c->free_mask, c->n_tokens, options->stop_ids[i]);
    return POWER_OK;
}

static power_status begin_later(struct power_constrained *c, const power_generate_options *options,
                                power_error *error) {
    struct power_text after = power_text_of(options->constraint_after);
    if (options->constraint_prefix_bytes) {
        return power_fail(error, POWER_INVALID,
                          "\"constraint_prefix\" and \"constraint_after\" exclude each other");
    }
    power_status status = power_stops_create(c->allocator, &after, 1, &c->after, error);
    return status == POWER_OK ? make_masks(c, options, error) : status;
}

static power_status take_prefix(struct power_constrained *c, const power_generate_options *options,
                                power_error *error) {
    struct power_text prefix = {options->constraint_prefix, options->constraint_prefix_bytes};
    c->begun = true;
    if (prefix.length == 0) return POWER_OK;
    power_error own;
    power_status status = power_matcher_accept_bytes(c->matcher, &c->match, prefix, &own);
    if (status == POWER_INVALID) {
        return power_fail(error, POWER_INVALID,
                          "no text of the constraint begins with \"constraint_prefix\"");
    }
    if (status != POWER_OK && error) *error = own;
    return status;
}

power_status power_constrained_init(struct power_constrained *c, const power_allocator *allocator,
                                    const struct power_vocab *vocab, struct power_matcher *matcher,
                                    const power_generate_options *options, power_error *error) {
    *c = (struct power_constrained){.allocator = allocator, .vocab = vocab, .matcher = matcher};
    c->match = power_matcher_start(matcher);
    c->started = true;
    if (options->constraint_after && *options->constraint_after) {
        return begin_later(c, options, error);
    }
    return take_prefix(c, options, error);
}

void power_constrained_finish(struct power_constrained *c) {
    if (c->started) power_matcher_release(c->matcher, c->match);
    power_stops_destroy(c->after);
    power_release(c->allocator, c->free_mask, c->n_words, sizeof *c->free_mask);
    power_release(c->allocator, c->here, c->n_words, sizeof *c->here);
    *c = (struct power_constrained){0};
}

power_status power_constrained_mask(struct power_constrained *c, const uint64_t **out_mask,
                                    uint32_t *out_only, power_error *error) {
    uint32_t count = 0, only = UINT32_MAX;
    *out_only = UINT32_MAX;
    if (!c->begun) {
        *out_mask = c->narrowed ? c->here : c->free_mask;
        return POWER_OK;
    }
    power_status status = power_matcher_mask(c->matcher, c->match, out_mask, &count, &only, error);
    if (status == POWER_OK && count == 1) *out_only = only;
    return status;
}

/* The bytes of a token after the place where the constraint begins; false: it does not begin in
 * this token. */
static bool begins_in(const struct power_constrained *c, struct power_text piece,
                      uint32_t *out_place, struct power_text *out_rest) {
    uint32_t place = c->place;
    for (size_t i = 0; i < piece.length; i++) {
        place = power_stops_next(c->after, place, (unsigned char)piece.bytes[i]);
        if (power_stops_ended(c->after, place) == POWER_NO_STOP) continue;
        *out_rest = (struct power_text){piece.bytes + i + 1, piece.length - i - 1};
        return true;
    }
    *out_place = place;
    return false;
}

/* POWER_INVALID, without a message, where the language does not allow the rest. */
static power_status try_rest(struct power_constrained *c, struct power_text rest, bool keeps,
                             power_error *error) {
    if (rest.length == 0) return POWER_OK;
    struct power_match match = power_matcher_fork(c->matcher, c->match);
    power_status status = power_matcher_accept_bytes(c->matcher, &match, rest, error);
    if (status == POWER_OK && keeps) {
        struct power_match start = c->match;
        c->match = match;
        match = start;
    }
    power_matcher_release(c->matcher, match);
    return status;
}

/* Rare: once an answer at most. Removes every id with which the constraint would begin badly. */
static power_status narrow(struct power_constrained *c, power_error *error) {
    memcpy(c->here, c->free_mask, c->n_words * sizeof *c->here);
    for (uint32_t id = 0; id < c->n_tokens; id++) {
        struct power_text rest;
        uint32_t place;
        if (!begins_in(c, power_vocab_piece(c->vocab, id), &place, &rest)) continue;
        power_status status = try_rest(c, rest, false, error);
        if (status == POWER_INVALID) {
            clear_bit(c->here, c->n_tokens, id);
        } else if (status != POWER_OK) {
            return status;
        }
    }
    c->narrowed = true;
    return POWER_OK;
}

power_status power_constrained_accept(struct power_constrained *c, uint32_t id, bool *out_again,
                                      power_error *error) {
    struct power_text rest;
    *out_again = false;
    if (c->begun) return power_matcher_accept(c->matcher, &c->match, id, error);
    if (!begins_in(c, power_vocab_piece(c->vocab, id), &c->place, &rest)) {
        c->narrowed = false;
        return POWER_OK;
    }
    power_status status = try_rest(c, rest, true, error);
    if (status == POWER_OK) c->begun = true;
    if (status != POWER_INVALID) return status;
    *out_again = true;
    return narrow(c, error);
}
