/* SPDX-License-Identifier: MIT */
/* A small random model with every kind of state: two attention layers (full F16, windowed Q8_0), a
 * dense and an expert layer, a gated delta net with its convolution.
 * Input: device options. Output: a compiled plan in a kit. Threads: one. Bounds: plan_kit.h. */
#ifndef POWER_TESTS_PLAN_MODEL_H
#define POWER_TESTS_PLAN_MODEL_H

#include "plan_kit.h"

#define VOCAB 96
enum { PIECE_FULL, PIECE_WINDOW, PIECE_CONV, PIECE_DELTA };

struct model {
    struct kit kit;
    power_value logits;
};

/* Close it with kit_close(&m->kit). */
void model_open(struct model *m, uint32_t threads, uint32_t features, bool apart, bool fusion);

#endif
