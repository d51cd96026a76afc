/* SPDX-License-Identifier: MIT */
/* A model, a session and logits in few words, for tests. Input: a path and options.
 * Output: handles; every failure is printed and ends the test program.
 * Threads: one. Bounds: the session's context. */
#ifndef POWER_TESTS_HARNESS_H
#define POWER_TESTS_HARNESS_H

#include "power/model.h"
#include "power/session.h"

struct harness {
    power_runtime *runtime;
    power_model *model;
    power_session *session;
    power_model_info info;
};

struct harness_options {
    uint32_t threads, cpu_mask; /* 0 threads: 1; cpu_mask as in power_runtime_options */
    uint32_t context, chunk_rows, prefill_rows, max_sequences;
    power_kv_type kv;
    int no_fusion, no_pack, beyond_trained;
};

/* All instruction sets, one thread, F32 keys and values, 512 tokens, 4 sequences. */
struct harness_options harness_defaults(void);
void harness_open(struct harness *h, const char *path, const struct harness_options *options);
void harness_close(struct harness *h);
/* A further session on the same model. */
power_session *harness_session(struct harness *h, const struct harness_options *options);
/* Logits of every one of the ids appended, [n][n_vocab]; the caller frees. */
float *harness_logits(struct harness *h, power_session *session, const uint32_t *ids, size_t n);
/* Path below tests/data, valid until the next but three calls. */
const char *harness_data(const char *format, ...) POWER_PRINTF(1, 2);
/* A tiny model: "llama" -> .../tiny-models/llama/model.gguf. */
const char *harness_tiny(const char *family);
/* Ends the program when the status is not OK, saying where. */
void harness_must(power_status status, const power_error *error, const char *what);

#endif
