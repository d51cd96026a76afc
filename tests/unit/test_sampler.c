/* SPDX-License-Identifier: MIT */
/* The sampler against published vectors, exact small cases, a plain sampler in double, and chance.
 * Input: made-up logits. Output: tokens compared. Threads: one. Bounds: small vocabularies. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/philox.h"
#include "engine/sampler.h"

#define N 777u

struct fixture {
    struct power_sampler sampler;
    float logits[N];
};

static uint32_t next_random(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33);
}

static int set_up(void **state) {
    struct fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    assert_int_equal(power_sampler_init(&f->sampler, &power_default_allocator, N, 0, NULL),
                     POWER_OK);
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    struct fixture *f = *state;
    power_sampler_finish(&f->sampler);
    free(f);
    return 0;
}

static power_sampling plain(void) {
    return (power_sampling){.struct_size = sizeof(power_sampling),
                            .temperature = 1.0f,
                            .top_p = 1.0f,
                            .repetition_penalty = 1.0f};
}

static void fill(struct fixture *f, uint64_t seed, float width) {
    for (uint32_t i = 0; i < N; i++) {
        f->logits[i] = ((float)next_random(&seed) / 2147483648.0f - 0.5f) * width;
    }
}

static uint32_t draw(struct fixture *f, const power_sampling *s, uint32_t position) {
    struct power_draw d = {.logits = f->logits, .sampling = s, .position = position};
    uint32_t id = UINT32_MAX;
    float logprob;
    power_error error;
    assert_int_equal(power_sampler_draw(&f->sampler, &d, &id, &logprob, &error), POWER_OK);
    assert_true(id < N);
    return id;
}

/* Random123's kat_vectors, philox4x32 10. */
static void philox_vectors(void **state) {
    const struct {
        struct power_philox counter;
        uint32_t key[2];
        uint32_t word[4];
    } vectors[] = {
        {{{0, 0, 0, 0}}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        struct power_philox got =
            power_philox(vectors[i].counter, vectors[i].key[0], vectors[i].key[1]);
        assert_memory_equal(got.word, vectors[i].word, sizeof got.word);
    }
}

static void greedy_takes_the_lowest_id_of_equals(void **state) {
    struct fixture *f = *state;
    power_sampling s = plain();
    s.temperature = 0.0f;
    fill(f, 1, 4.0f);
    f->logits[500] = f->logits[300] = f->logits[301] = 9.0f;
    assert_int_equal(draw(f, &s, 0), 300);
    power_bias bias = {.id = 500, .bias = 0.5f};
    s.biases = &bias;
    s.n_biases = 1;
    assert_int_equal(draw(f, &s, 0), 500);
}

static void top_k_one_is_greedy_with_ties_to_the_lowest(void **state) {
    struct fixture *f = *state;
    power_sampling s = plain();
    s.top_k = 1;
    fill(f, 2, 4.0f);
    f->logits[77] = f->logits[76] = 5.0f;
    for (uint32_t i = 0; i < 50; i++)
        assert_int_equal(draw(f, &s, i), 76);
}

/* Two of three equal ids survive top_k = 2: the lower ones. */
static void top_k_cuts_ties_by_id(void **state) {
    struct fixture *f = *state;
    power_sampling s = plain();
    s.top_k = 2;
    fill(f, 3, 1.0f);
    f->logits[10] = f->logits[20] = f->logits[30] = 8.0f;
    int seen[N] = {0};
    for (uint32_t i = 0; i < 300; i++)
        seen[draw(f, &s, i)]++;
    assert_true(seen[10] > 50 && seen[20] > 50);
    assert_int_equal(seen[10] + seen[20], 300);
}

/* Four ids of exactly a quarter each, the rest nothing: the walk keeps while the sum before is
 * below. */
static void top_p_edges(void **state) {
    struct fixture *f = *state;
    const struct {
        float top_p;
        int kept;
    } cases[] = {{0.0f, 1},  {0.25f, 1},   {0.2501f, 2}, {0.5f, 2},
                 {0.75f, 3}, {0.7501f, 4}, {0.99f, 4}};
    for (uint32_t i = 0; i < N; i++)
        f->logits[i] = -1000.0f;
    const uint32_t ids[4] = {3, 100, 101, 776};
    for (int i = 0; i < 4; i++)
        f->logits[ids[i]] = 2.0f;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        power_sampling s = plain();
        s.top_p = cases[c].top_p;
        int seen[N] = {0}, kinds = 0;
        for (uint32_t i = 0; i < 400; i++)
            seen[draw(f, &s, i)]++;
        for (uint32_t i = 0; i < N; i++)
            kinds += seen[i] > 0;
        assert_int_equal(kinds, cases[c].kept);
        for (int i = 0; i < cases[c].kept; i++)
            assert_true(seen[ids[i]] > 0);
    }
}

static void min_p_keeps_by_the_best(void **state) {
    struct fixture *f = *state;
    power_sampling s = plain();
    s.min_p = 0.5f;
    for (uint32_t i = 0; i < N; i++)
        f->logits[i] = 0.0f;
    f->logits[5] = 3.0f;
    f->logits[6] = 3.0f - 0.69f; /* exp(-0.69) = 0.5016 */
    f->logits[7] = 3.0f - 0.70f; /* exp(-0.70) = 0.4966 */
    int seen[N] = {0};
    for (uint32_t i = 0; i < 400; i++)
        seen[draw(f, &s, i)]++;
    assert_true(seen[5] > 0 && seen[6] > 0);
    assert_int_equal(seen[5] + seen[6], 400);
}

static uint32_t draw_with(struct fixture *f, const power_sampling *s, const uint32_t *history,
                          uint32_t n_history, uint32_t n_output) {
    struct power_draw d = {.logits = f->logits,
                           .sampling = s,
                           .history = history,
                           .n_history = n_history,
                           .n_output = n_output};
    uint32_t id;
    float logprob;
    assert_int_equal(power_sampler_draw(&f->sampler, &d, &id, &logprob, NULL), POWER_OK);
    return id;
}

static void penalties(void **state) {
    struct fixture *f = *state;
    power_sampling s = plain();
    s.temperature = 0.0f;
    for (uint32_t i = 0; i < N; i++)
        f->logits[i] = -50.0f;
    f->logits[1] = 4.0f;
    f->logits[2] = 3.9f;
    f->logits[3] = 1.5f;
    const uint32_t history[] = {1, 2, 1, 1, 2};
    assert_int_equal(draw_with(f, &s, history, 5, 2), 1);
    /* Repetition touches prompt and output once: 4 / 2.5 = 1.6, 3.9 / 2.5 = 1.56, 1.5 stays. */
    s.repetition_penalty = 2.5f;
    assert_int_equal(draw_with(f, &s, history, 5, 2), 1);
    s.repetition_penalty = 2.7f; /* 1.48, 1.44: below 1.5 */
    assert_int_equal(draw_with(f, &s, history, 5, 2), 3);
    /* Presence and frequency count the output only: with an output of {1, 2} both pay once, with
     * {2} only 2 does. */
    s.repetition_penalty = 1.0f;
    s.presence_penalty = 0.2f;
    assert_int_equal(draw_with(f, &s, history, 5, 2), 1);
    assert_int_equal(draw_with(f, &s, history, 4, 1), 2); /* output {1}: 3.8 against 3.9 */
    s.presence_penalty = 0.0f;
    s.frequency_penalty = 1.0f;
    assert_int_equal(draw_with(f, &s, history, 5, 3), 2); /* {1, 1, 2}: 2.0 and 2.9 */
    assert_int_equal(draw_with(f, &s, history, 5, 0), 1); /* prompt only */
    const uint32_t many[] = {1, 1, 1, 2, 2, 2};
    assert_int_equal(draw_with(f, &s, many, 6, 6), 3); /* 1.0, 0.9, 1.5 */
    /* A negative logit is multiplied, so it sinks too. */
    s = plain();
    s.temperature = 0.0f;
    s.repetition_penalty = 2.0f;
    for (uint32_t i = 0; i < N; i++)
        f->logits[i] = -9.0f;
    f->logits[8] = -5.0f;
    const uint32_t eight = 8;
    assert_int_equal(draw_with(f, &s, &eight, 1, 0), 0);
}

/* ---- a plain sampler in double, written from the text of the profile ---- */

struct item {
    double x, p;
    uint32_t id;
};

static int by_x(const void *a, const void *b) {
    const struct item *l = a, *r = b;
    if (l->x != r->x) return l->x < r->x ? 1 : -1;
    return l->id < r->id ? -1 : 1;
}

static bool is_masked(const struct power_draw *d, uint32_t id) {
    return d->mask && (id >= d->n_mask || !(d->mask[id / 64] >> (id % 64) & 1));
}

/* The mask, the biases, the penalties and the temperature, in this order. */
static uint32_t shaped(const struct power_draw *d, struct item *items) {
    const power_sampling *s = d->sampling;
    uint32_t n = 0;
    for (uint32_t id = 0; id < N; id++) {
        double x = (double)d->logits[id];
        uint32_t seen = 0, said = 0;
        if (is_masked(d, id)) continue;
        for (size_t i = 0; i < s->n_biases; i++)
            x += s->biases[i].id == id ? (double)s->biases[i].bias : 0;
        for (uint32_t i = 0; i < d->n_history; i++) {
            seen += d->history[i] == id;
            said += d->history[i] == id && i >= d->n_history - d->n_output;
        }
        double r = (double)s->repetition_penalty;
        if (seen) x = x > 0 ? x / r : x * r;
        x -= said * (double)s->frequency_penalty + (said ? (double)s->presence_penalty : 0);
        items[n++] = (struct item){x / (s->temperature > 0 ? (double)s->temperature : 1), 0, id};
    }
    qsort(items, n, sizeof *items, by_x);
    return n;
}

/* *out_margin: how far the winner is from the next, and the cuts from their borders. */
static uint32_t reference(const struct power_draw *d, double *out_margin) {
    static struct item items[N]; /* of this test program alone */
    const power_sampling *s = d->sampling;
    double margin = 1e9, z = 0, before = 0;
    uint32_t n = shaped(d, items), kept = 0;
    if (s->temperature == 0.0f) {
        *out_margin = n > 1 ? items[0].x - items[1].x : margin;
        return items[0].id;
    }
    if (s->top_k && s->top_k < n) n = s->top_k;
    for (uint32_t i = 0; i < n; i++) {
        items[i].p = exp(items[i].x - items[0].x);
        z += items[i].p;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (s->top_p < 1.0f) {
            double border = (double)s->top_p * z;
            margin = fmin(margin, fabs(before - border) / z);
            if (i > 0 && before >= border) break;
        }
        before += items[i].p;
        if (s->min_p > 0.0f) margin = fmin(margin, fabs(items[i].p - (double)s->min_p));
        if (items[i].p < (double)s->min_p) continue;
        items[kept++] = items[i];
    }
    double best = -1e30, second = -1e30;
    uint32_t winner = 0;
    for (uint32_t i = 0; i < kept; i++) {
        uint32_t id = items[i].id;
        struct power_philox w =
            power_philox((struct power_philox){{id / 4, d->position, s->choice, 0}},
                         (uint32_t)s->seed, (uint32_t)(s->seed >> 32));
        double u = (2.0 * (w.word[id % 4] >> 9) + 1.0) / 16777216.0;
        double score = items[i].x - log(-log(u));
        if (score > best) {
            second = best;
            best = score;
            winner = id;
        } else if (score > second) {
            second = score;
        }
    }
    *out_margin = fmin(margin, best - second);
    return winner;
}

static void agrees_with_a_plain_sampler(void **state) {
    struct fixture *f = *state;
    uint64_t seed = 99;
    uint32_t decided = 0, distinct = 0, last = UINT32_MAX;
    for (uint32_t round = 0; round < 1500; round++) {
        power_sampling s = plain();
        fill(f, round + 1, (float)(1 + next_random(&seed) % 40));
        s.temperature = 0.1f + (float)(next_random(&seed) % 20) * 0.1f;
        s.top_k = next_random(&seed) % 3 ? 0 : 1 + next_random(&seed) % 800;
        s.top_p = next_random(&seed) % 2 ? 1.0f : 0.05f * (float)(next_random(&seed) % 20);
        s.min_p = next_random(&seed) % 2 ? 0.0f : 0.01f * (float)(next_random(&seed) % 30);
        s.seed = (uint64_t)next_random(&seed) << 20;
        s.choice = next_random(&seed) % 5;
        double margin;
        struct power_draw d = {.logits = f->logits, .sampling = &s, .position = round};
        uint32_t expected = reference(&d, &margin);
        if (margin < 1e-4) continue;
        uint32_t got = draw(f, &s, round);
        assert_int_equal(got, expected);
        decided++;
        distinct += got != last;
        last = got;
    }
    assert_true(decided > 1300 && distinct > 1100);
}

/* ---- the mask ---- */

/* A mask of some density, down to a handful of ids; at least one is left below n_mask. */
static void random_mask(uint64_t *mask, uint32_t n_mask, uint64_t *seed) {
    uint32_t one_in = 1u << next_random(seed) % 9;
    memset(mask, 0, (N / 64 + 1) * sizeof *mask);
    for (uint32_t id = 0; id < N; id++) /* what lies behind n_mask does not count */
        mask[id / 64] |= (uint64_t)(next_random(seed) % one_in == 0) << (id % 64);
    uint32_t id = next_random(seed) % n_mask;
    mask[id / 64] |= UINT64_C(1) << (id % 64);
}

static power_sampling random_sampling(uint64_t *seed, power_bias *biases) {
    power_sampling s = plain();
    s.temperature = next_random(seed) % 4 ? 0.2f + (float)(next_random(seed) % 20) * 0.1f : 0.0f;
    s.top_k = next_random(seed) % 3 ? 0 : 1 + next_random(seed) % 60;
    s.top_p = next_random(seed) % 2 ? 1.0f : 0.05f * (float)(next_random(seed) % 20);
    s.min_p = next_random(seed) % 2 ? 0.0f : 0.01f * (float)(next_random(seed) % 30);
    s.seed = (uint64_t)next_random(seed) << 20;
    s.choice = next_random(seed) % 3;
    s.repetition_penalty = next_random(seed) % 2 ? 1.0f : 1.3f;
    s.frequency_penalty = next_random(seed) % 2 ? 0.0f : 0.5f;
    s.presence_penalty = next_random(seed) % 2 ? 0.0f : 0.3f;
    biases[0] = (power_bias){.id = next_random(seed) % N, .bias = 9.0f};
    biases[1] = (power_bias){.id = next_random(seed) % N, .bias = -7.0f};
    s.biases = biases;
    s.n_biases = next_random(seed) % 2 && biases[0].id != biases[1].id ? 2 : 0;
    return s;
}

/* A removed id does not exist: not for the maximum, the cuts, the draw or a bias. Its logprob is
 * that of the raw logits all the same, and of all of them. */
static void a_mask_removes_before_all_else(void **state) {
    struct fixture *f = *state;
    uint64_t seed = 4, mask[N / 64 + 1];
    uint32_t decided = 0, history[24];
    for (uint32_t round = 0; round < 1500; round++) {
        power_bias biases[2];
        power_sampling s = random_sampling(&seed, biases);
        fill(f, round + 9000, (float)(1 + next_random(&seed) % 30));
        struct power_draw d = {.logits = f->logits,
                               .sampling = &s,
                               .history = history,
                               .n_history = 24,
                               .n_output = next_random(&seed) % 25,
                               .position = round,
                               .mask = mask,
                               .only = UINT32_MAX,
                               .n_mask = next_random(&seed) % 3 ? N : 1 + next_random(&seed) % N,
                               .want_logprob = true};
        for (uint32_t i = 0; i < 24; i++)
            history[i] = next_random(&seed) % N;
        random_mask(mask, d.n_mask, &seed);
        double margin, sum = 0;
        uint32_t expected = reference(&d, &margin), id = UINT32_MAX;
        float logprob = 1;
        assert_int_equal(power_sampler_draw(&f->sampler, &d, &id, &logprob, NULL), POWER_OK);
        assert_true(id < N && !is_masked(&d, id));
        for (uint32_t i = 0; i < N; i++)
            sum += exp((double)f->logits[i]);
        assert_true(fabs((double)logprob - ((double)f->logits[id] - log(sum))) < 1e-5);
        if (margin < 1e-4) continue;
        assert_int_equal(id, expected);
        decided++;
    }
    assert_true(decided > 1200);
}

/* The short way for an id that stands alone gives what the long way gives, logprobs included. */
static void a_forced_id_is_what_the_long_way_gives(void **state) {
    struct fixture *f = *state;
    uint64_t seed = 6, mask[N / 64 + 1];
    const uint32_t history[] = {5, 6, 7};
    for (uint32_t round = 0; round < 400; round++) {
        power_bias biases[2];
        power_top_logprob top[2][5];
        power_sampling s = random_sampling(&seed, biases);
        uint32_t forced = next_random(&seed) % N, ids[2] = {UINT32_MAX, UINT32_MAX};
        float logprobs[2];
        fill(f, round + 70, 12.0f);
        memset(mask, 0, sizeof mask);
        mask[forced / 64] = UINT64_C(1) << (forced % 64);
        for (int way = 0; way < 2; way++) {
            struct power_draw d = {.logits = f->logits,
                                   .sampling = &s,
                                   .history = history,
                                   .n_history = 3,
                                   .n_output = 2,
                                   .position = round,
                                   .mask = mask,
                                   .n_mask = N,
                                   .only = way ? forced : UINT32_MAX,
                                   .want_logprob = true,
                                   .n_top = 5,
                                   .top = top[way]};
            assert_int_equal(power_sampler_draw(&f->sampler, &d, &ids[way], &logprobs[way], NULL),
                             POWER_OK);
        }
        assert_int_equal(ids[0], forced);
        assert_int_equal(ids[1], forced);
        assert_memory_equal(&logprobs[0], &logprobs[1], sizeof logprobs[0]);
        for (int i = 0; i < 5; i++) {
            assert_int_equal(top[0][i].id, top[1][i].id);
            assert_memory_equal(&top[0][i].logprob, &top[1][i].logprob, sizeof(float));
        }
    }
}

/* 20,000 draws of five ids: chi square with 4 degrees of freedom, 0.001 quantile 18.47. */
static void frequencies_follow_the_softmax(void **state) {
    struct fixture *f = *state;
    power_sampling s = plain();
    const double p[5] = {0.5, 0.25, 0.15, 0.07, 0.03};
    int seen[5] = {0};
    for (uint32_t i = 0; i < N; i++)
        f->logits[i] = -200.0f;
    for (int i = 0; i < 5; i++)
        f->logits[i * 7] = (float)log(p[i]);
    for (uint32_t i = 0; i < 20000; i++) {
        uint32_t id = draw(f, &s, i);
        assert_true(id % 7 == 0 && id / 7 < 5);
        seen[id / 7]++;
    }
    double chi = 0;
    for (int i = 0; i < 5; i++)
        chi += pow(seen[i] - 20000 * p[i], 2) / (20000 * p[i]);
    assert_true(chi < 18.47);
}

static void logprobs_are_of_the_raw_logits(void **state) {
    struct fixture *f = *state;
    power_sampling s = plain();
    power_bias bias = {.id = 12, .bias = 100.0f};
    s.biases = &bias;
    s.n_biases = 1;
    s.temperature = 0.3f;
    fill(f, 5, 6.0f);
    struct power_draw d = {.logits = f->logits, .sampling = &s, .want_logprob = true};
    uint32_t id;
    float logprob;
    assert_int_equal(power_sampler_draw(&f->sampler, &d, &id, &logprob, NULL), POWER_OK);
    assert_int_equal(id, 12);
    double sum = 0;
    for (uint32_t i = 0; i < N; i++)
        sum += exp((double)f->logits[i]);
    assert_true(fabs((double)logprob - ((double)f->logits[12] - log(sum))) < 2e-6);
}

static void refuses_what_is_not_finite(void **state) {
    struct fixture *f = *state;
    const float bad[] = {NAN, -NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < 4; i++) {
        power_sampling s = plain();
        power_error error = {0};
        uint32_t id = 4711;
        float logprob;
        fill(f, 6, 2.0f);
        f->logits[700] = bad[i];
        struct power_draw d = {.logits = f->logits, .sampling = &s};
        assert_int_equal(power_sampler_draw(&f->sampler, &d, &id, &logprob, &error),
                         POWER_NOT_FINITE);
        assert_int_equal(id, 4711);
    }
}

static void settings_out_of_range_are_named(void **state) {
    (void)state;
    power_error error;
    power_sampling s = plain();
    assert_int_equal(power_sampling_check(&s, N, &error), POWER_OK);
    s.temperature = NAN;
    assert_int_equal(power_sampling_check(&s, N, &error), POWER_INVALID);
    assert_non_null(strstr(error.message, "\"temperature\""));
    s = plain();
    s.temperature = 1e-7f;
    assert_int_equal(power_sampling_check(&s, N, &error), POWER_INVALID);
    s = plain();
    s.min_p = 1.5f;
    assert_int_equal(power_sampling_check(&s, N, &error), POWER_INVALID);
    assert_non_null(strstr(error.message, "\"min_p\""));
    s = plain();
    power_bias bias = {.id = N, .bias = 0};
    s.biases = &bias;
    s.n_biases = 1;
    assert_int_equal(power_sampling_check(&s, N, &error), POWER_INVALID);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_vectors),
        cmocka_unit_test(greedy_takes_the_lowest_id_of_equals),
        cmocka_unit_test(top_k_one_is_greedy_with_ties_to_the_lowest),
        cmocka_unit_test(top_k_cuts_ties_by_id),
        cmocka_unit_test(top_p_edges),
        cmocka_unit_test(min_p_keeps_by_the_best),
        cmocka_unit_test(penalties),
        cmocka_unit_test(agrees_with_a_plain_sampler),
        cmocka_unit_test(a_mask_removes_before_all_else),
        cmocka_unit_test(a_forced_id_is_what_the_long_way_gives),
        cmocka_unit_test(frequencies_follow_the_softmax),
        cmocka_unit_test(logprobs_are_of_the_raw_logits),
        cmocka_unit_test(refuses_what_is_not_finite),
        cmocka_unit_test(settings_out_of_range_are_named),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
