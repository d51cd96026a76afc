/* SPDX-License-Identifier: MIT */
/* A tiny model on a device of the test's choice, with an allocator that counts and can fail.
 * Input: a family of tests/data/tiny-models. Output: a model, sessions, logits.
 * Threads: one, but for the counting allocator (any). Bounds: none. */
#ifndef POWER_TESTS_ENGINE_KIT_H
#define POWER_TESTS_ENGINE_KIT_H

#include <stdatomic.h>

#include "api/session.h"

struct counting {
    power_allocator allocator;
    _Atomic(uint64_t) calls;      /* of alloc */
    _Atomic(int64_t) live;        /* blocks not released */
    _Atomic(uint64_t) fail_at;    /* this call fails, counted from 1; 0: none */
    _Atomic(uint64_t) fail_after; /* so does every later one, when set */
};
void counting_init(struct counting *counting);

struct kit {
    struct counting memory;
    struct power_device *device;
    struct power_budget budget;
    struct power_model *model;
    uint32_t n_vocab;
};

struct kit_options {
    const char *family; /* of tiny-models */
    const char *path;   /* instead of a family */
    bool apart;         /* the device keeps memory of its own */
    uint32_t max_sequences, prefill_rows, undo_rows;
    uint64_t max_tokens;
};
void kit_open(struct kit *kit, const struct kit_options *options);
void kit_close(struct kit *kit); /* nothing is left in the allocator */
power_session *kit_session(struct kit *kit, uint32_t context, power_kv_type kv_type);

/* n made-up ids that every tiny model knows, the same for the same seed. */
void kit_ids(uint32_t *ids, uint32_t n, uint32_t seed);
/* Logits of the last `n_rows` of n ids appended; the caller frees. */
float *kit_logits(struct kit *kit, power_session *session, const uint32_t *ids, uint32_t n,
                  uint32_t n_rows);
/* Logits of the row that follows `ids` on a fresh session; the caller frees. */
float *kit_fresh(struct kit *kit, const uint32_t *ids, uint32_t n, power_kv_type kv_type);
/* The last row of `session` after one more id equals that of a fresh one with the same ids. */
void kit_same_as_fresh(struct kit *kit, power_session *session, power_kv_type kv_type);
/* Greedy ids; returns how many came. */
uint32_t kit_greedy(power_session *session, const uint32_t *ids, uint32_t n, uint32_t max_tokens,
                    uint32_t *out);

const char *kit_path(const char *family); /* valid until the next call on this thread */

#endif
