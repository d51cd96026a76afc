/* SPDX-License-Identifier: MIT */
/* One way of computing the same thing: which kernels, threads, chunks, company and history.
 * Input: a model and a scenario. Output: a digest of all logits and of the sampled tokens.
 * Threads: the runtime's, and one for each sequence of company. Bounds: prompts up to 600 tokens.
 */
#ifndef POWER_TESTS_SCENARIO_H
#define POWER_TESTS_SCENARIO_H

#include "../common/harness.h"
#include "base/hash.h"

enum scenario_axis {
    AXIS_ISA,
    AXIS_THREADS,
    AXIS_FUSION,
    AXIS_KV,
    AXIS_CHUNK,
    AXIS_COMPANY,
    AXIS_STATE,
    AXIS_PROMPT,
    AXIS_COUNT
};

enum scenario_state {
    STATE_FRESH,
    STATE_CONTINUED,
    STATE_FORKED,
    STATE_ROLLED_BACK,
    STATE_RESTORED, /* saved, and restored in a new process */
    STATE_COUNT
};

/* Values as indices into the tables below. */
struct scenario {
    uint8_t at[AXIS_COUNT];
};

extern const uint32_t scenario_masks[], scenario_threads[], scenario_chunks[], scenario_company[],
    scenario_prompts[];
extern const power_kv_type scenario_kv[];
extern const uint8_t scenario_sizes[AXIS_COUNT];
extern const char *const scenario_mask_names[];

/* A runtime and a model opened for scenarios that share ISA, threads and fusion. */
struct scenario_bench {
    struct harness h; /* its session is not used */
    const char *path;
    const char *self; /* this program, run again for STATE_RESTORED */
    struct scenario opened;
};
void scenario_open(struct scenario_bench *bench, const char *self, const char *path,
                   const struct scenario *s);
void scenario_close(struct scenario_bench *bench);
struct power_digest scenario_run(struct scenario_bench *bench, const struct scenario *s);
/* The second process of STATE_RESTORED: argv after "--child". */
int scenario_child(int argc, char **argv);
void scenario_print(const struct scenario *s);

/* Makes one kernel of the model's device differ in the last bit of one value: the test must notice.
 */
void scenario_spoil(struct scenario_bench *bench);

#endif
