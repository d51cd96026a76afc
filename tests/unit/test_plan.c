/* SPDX-License-Identifier: MIT */
/* One plan, one answer: a random model with attention, experts, convolution and delta rule gives
 * the same bits with fusion on and off, with 1 to 3 threads, on every instruction set, on the
 * device with memory of its own, in one step or many, alone or in company. Input: a seed. Output:
 * cmocka's verdict. Threads: the pool's. Bounds: those of plan_kit.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan_model.h"

#define TOTAL 40 /* rows of the sequence under test */

/* One step; logits of all its rows. */
static void step(struct model *m, uint32_t first_seq, uint32_t n_seqs, const uint32_t *length,
                 const uint32_t *n, float *out) {
    power_error error = {0};
    struct kit_step *s = calloc(1, sizeof *s);
    uint32_t faults[KIT_MAX_ROWS];
    kit_step_make(&m->kit, s, first_seq, n_seqs, length, n, VOCAB);
    struct kit_io io = {m->logits, NULL, out, (size_t)s->step.n_rows * VOCAB};
    kit_must(kit_run(&m->kit, &s->step, NULL, &io, 1, faults, &error), &error, "run");
    for (uint32_t r = 0; r < s->step.n_rows; r++)
        assert_int_equal(faults[r], 0);
    free(s);
}

/* Sequence 1's TOTAL rows in chunks, with company of other sequences or without. */
static void sequence(struct model *m, uint32_t chunk, bool company, float *out) {
    float *logits = malloc((size_t)KIT_MAX_ROWS * VOCAB * sizeof *logits);
    uint32_t other = 0;
    for (uint32_t at = 0; at < TOTAL; at += chunk) {
        uint32_t n = at + chunk > TOTAL ? TOTAL - at : chunk;
        if (!company) {
            step(m, 1, 1, &at, &n, out + (size_t)at * VOCAB);
            continue;
        }
        uint32_t length[3] = {other, at, other / 2}, rows[3] = {4, n, 2};
        step(m, 0, 3, length, rows, logits);
        memcpy(out + (size_t)at * VOCAB, logits + 4 * VOCAB, (size_t)n * VOCAB * sizeof *out);
        other += 4;
    }
    free(logits);
}

static float *answer(uint32_t threads, uint32_t features, bool apart, bool fusion, uint32_t chunk,
                     bool company) {
    float *out = calloc((size_t)TOTAL * VOCAB, sizeof *out);
    struct model *m = calloc(1, sizeof *m);
    model_open(m, threads, features, apart, fusion);
    sequence(m, chunk, company, out);
    kit_close(&m->kit);
    free(m);
    return out;
}

static void same_bits(const float *a, const float *b, const char *what) {
    for (size_t i = 0; i < (size_t)TOTAL * VOCAB; i++) {
        if (memcmp(&a[i], &b[i], sizeof *a) == 0) continue;
        fail_msg("%s: row %zu logit %zu: %a is not %a", what, i / VOCAB, i % VOCAB, (double)a[i],
                 (double)b[i]);
    }
}

static void test_one_answer(void **state) {
    (void)state;
    float *base = answer(1, 0, false, false, TOTAL, false);
    float spread = 0;
    for (size_t i = 0; i < (size_t)TOTAL * VOCAB; i++) {
        float d = base[i] - base[0];
        spread = d > spread ? d : spread;
    }
    assert_true(spread > 0.01f); /* not all the same number */
    static const struct {
        uint32_t threads, features;
        bool apart, fusion;
        uint32_t chunk;
        bool company;
        const char *what;
    } RUNS[] = {
        {1, 0, false, true, TOTAL, false, "fusion"},
        {3, 0, false, true, TOTAL, false, "three threads"},
        {2, 0, true, false, TOTAL, false, "memory apart"},
        {1, 0, false, true, 1, false, "one row at a time"},
        {2, 0, false, false, 7, true, "chunks of 7 in company"},
        {1, POWER_CPU_AVX2, false, true, TOTAL, false, "avx2"},
        {2, POWER_CPU_AVX2, true, true, 3, true, "avx2, chunks of 3 in company, apart"},
        {3, UINT32_MAX, false, true, TOTAL, true, "all instructions, company"},
        {1, UINT32_MAX, false, false, 1, false, "all instructions, unfused, one row at a time"},
    };
    for (size_t i = 0; i < sizeof RUNS / sizeof *RUNS; i++) {
        float *other = answer(RUNS[i].threads, RUNS[i].features, RUNS[i].apart, RUNS[i].fusion,
                              RUNS[i].chunk, RUNS[i].company);
        same_bits(base, other, RUNS[i].what);
        free(other);
    }
    free(base);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_answer)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
