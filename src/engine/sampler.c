/* SPDX-License-Identifier: MIT */
/* The sampler: mask, penalties, temperature, top-k, top-p, min-p, and a Gumbel draw that needs no
 * prefix sum. Input: a row of logits. Output: a token. Threads: the scheduler's only. Bounds: time
 * linear in the vocabulary but for the heap of top-k and top-p. */
#include "engine/sampler.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "device/cpu/ref/math.h"
#include "engine/philox.h"

#define INFINITY_BITS 0x7f800000u
/* -log(-log(u)) lies in [-2.82, 16.64]: an id this far below another cannot win the draw. */
#define GUMBEL_SPAN 19.5f
#define GUMBEL_MOST 16.75f
/* What stands for a removed id: below every number, and exp of it is 0. */
#define REMOVED (-INFINITY)

power_status power_sampler_init(struct power_sampler *sampler, const power_allocator *allocator,
                                uint32_t n_vocab, uint32_t features, power_error *error) {
    *sampler = (struct power_sampler){.allocator = allocator, .n_vocab = n_vocab};
    sampler->kernels = power_alloc(allocator, 1, sizeof *sampler->kernels);
    sampler->x = power_alloc(allocator, n_vocab, sizeof *sampler->x);
    sampler->counts = power_alloc(allocator, n_vocab, sizeof *sampler->counts);
    sampler->candidates = power_alloc(allocator, n_vocab, sizeof *sampler->candidates);
    if (!sampler->kernels || !sampler->x || !sampler->counts || !sampler->candidates) {
        return power_fail_memory(error, n_vocab * sizeof *sampler->candidates, "the sampler");
    }
    power_cpu_kernels_init(sampler->kernels, features);
    return POWER_OK;
}

void power_sampler_finish(struct power_sampler *sampler) {
    if (!sampler->allocator) return;
    uint32_t n = sampler->n_vocab;
    power_release(sampler->allocator, sampler->kernels, 1, sizeof *sampler->kernels);
    power_release(sampler->allocator, sampler->x, n, sizeof *sampler->x);
    power_release(sampler->allocator, sampler->counts, n, sizeof *sampler->counts);
    power_release(sampler->allocator, sampler->candidates, n, sizeof *sampler->candidates);
    *sampler = (struct power_sampler){0};
}

static power_status check_range(float value, float low, float high, const char *name,
                                power_error *error) {
    if (value >= low && value <= high) return POWER_OK; /* a NaN is outside */
    return power_fail(error, POWER_INVALID, "\"%s\" is %g, allowed are %g to %g", name,
                      (double)value, (double)low, (double)high);
}

power_status power_sampling_check(const power_sampling *sampling, uint32_t n_vocab,
                                  power_error *error) {
    const struct {
        float value, low, high;
        const char *name;
    } ranges[] = {
        {sampling->temperature, 0.0f, 1000.0f, "temperature"},
        {sampling->top_p, 0.0f, 1e6f, "top_p"},
        {sampling->min_p, 0.0f, 1.0f, "min_p"},
        {sampling->repetition_penalty, 1e-3f, 1e3f, "repetition_penalty"},
        {sampling->presence_penalty, -1e3f, 1e3f, "presence_penalty"},
        {sampling->frequency_penalty, -1e3f, 1e3f, "frequency_penalty"},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        power_status status =
            check_range(ranges[i].value, ranges[i].low, ranges[i].high, ranges[i].name, error);
        if (status != POWER_OK) return status;
    }
    if (sampling->temperature != 0.0f && sampling->temperature < 1e-4f) {
        return power_fail(error, POWER_INVALID,
                          "\"temperature\" is %g, the smallest but 0 is 0.0001",
                          (double)sampling->temperature);
    }
    if (sampling->n_biases && !sampling->biases) {
        return power_fail(error, POWER_INVALID, "\"biases\" is NULL, n_biases is %zu",
                          sampling->n_biases);
    }
    for (size_t i = 0; i < sampling->n_biases; i++) {
        power_bias bias = sampling->biases[i];
        if (bias.id >= n_vocab || !(fabsf(bias.bias) <= 1e6f)) {
            return power_fail(error, POWER_INVALID,
                              "bias %zu: id %u with %g, ids are below %u and values within 1e6", i,
                              bias.id, (double)bias.bias, n_vocab);
        }
    }
    return POWER_OK;
}

/* ---- penalties ---- */

/* Each id of the history once: `counts` remembers, and is cleared by a second walk. Bit 31 marks an
 * id that was seen, the rest counts its places in the output. */
#define SEEN 0x80000000u

static void apply_penalties(struct power_sampler *sampler, const struct power_draw *draw) {
    const power_sampling *s = draw->sampling;
    bool repeats = s->repetition_penalty != 1.0f;
    bool counts_output = s->presence_penalty != 0.0f || s->frequency_penalty != 0.0f;
    if (!repeats && !counts_output) return;
    uint32_t first_output = draw->n_history - draw->n_output;
    for (uint32_t i = first_output; i < draw->n_history; i++) {
        sampler->counts[draw->history[i]]++;
    }
    for (uint32_t i = repeats ? 0 : first_output; i < draw->n_history; i++) {
        uint32_t id = draw->history[i], count = sampler->counts[id];
        if (count & SEEN) continue;
        sampler->counts[id] |= SEEN;
        float x = sampler->x[id], r = s->repetition_penalty;
        if (repeats) x = x > 0.0f ? x / r : x * r;
        if (count && s->frequency_penalty != 0.0f) x = x - (float)count * s->frequency_penalty;
        if (count && s->presence_penalty != 0.0f) x = x - s->presence_penalty;
        sampler->x[id] = x;
    }
    for (uint32_t i = 0; i < draw->n_history; i++)
        sampler->counts[draw->history[i]] = 0;
}

/* ---- order: a heap whose root is the last in the order given ---- */

typedef bool (*before_fn)(const struct power_candidate *a, const struct power_candidate *b);

static bool larger_x(const struct power_candidate *a, const struct power_candidate *b) {
    return a->x > b->x || (a->x == b->x && a->id < b->id);
}

static bool smaller_x(const struct power_candidate *a, const struct power_candidate *b) {
    return larger_x(b, a);
}

static bool larger_p(const struct power_candidate *a, const struct power_candidate *b) {
    return a->p > b->p || (a->p == b->p && a->id < b->id);
}

/* Restores the heap below `at`; the root is the one that comes first by `before`. */
static void sift(struct power_candidate *heap, uint32_t n, uint32_t at, before_fn before) {
    struct power_candidate moved = heap[at];
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= n) break;
        if (child + 1 < n && before(&heap[child + 1], &heap[child])) child++;
        if (!before(&heap[child], &moved)) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
}

static void heapify(struct power_candidate *heap, uint32_t n, before_fn before) {
    for (uint32_t i = n / 2; i-- > 0;)
        sift(heap, n, i, before);
}

static int by_x(const void *a, const void *b) {
    return larger_x(a, b) ? -1 : 1; /* no two are equal */
}

static int by_id(const void *a, const void *b) {
    uint32_t x = ((const struct power_candidate *)a)->id;
    uint32_t y = ((const struct power_candidate *)b)->id;
    return (x > y) - (x < y);
}

/* ---- candidates ---- */

/* The k best of x by (x descending, id ascending), in no order. */
static void take_best(struct power_candidate *heap, uint32_t k, const float *x, uint32_t n) {
    for (uint32_t i = 0; i < k; i++)
        heap[i] = (struct power_candidate){x[i], 0, i};
    heapify(heap, k, smaller_x);
    for (uint32_t i = k; i < n; i++) {
        if (x[i] <= heap[0].x) continue; /* an equal one has the higher id */
        heap[0] = (struct power_candidate){x[i], 0, i};
        sift(heap, k, 0, smaller_x);
    }
}

/* In id order, and none that the mask removed. */
static uint32_t take_top_k(struct power_sampler *sampler, uint32_t k) {
    struct power_candidate *c = sampler->candidates;
    uint32_t n = 0;
    take_best(c, k, sampler->x, sampler->n_vocab);
    for (uint32_t i = 0; i < k; i++) {
        if (c[i].x != REMOVED) c[n++] = c[i];
    }
    qsort(c, n, sizeof *c, by_id);
    return n;
}

/* All that can still win; in id order. */
static uint32_t take_near(struct power_sampler *sampler, float best) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < sampler->n_vocab; i++) {
        if (sampler->x[i] < best - GUMBEL_SPAN) continue;
        sampler->candidates[n++] = (struct power_candidate){sampler->x[i], 0, i};
    }
    return n;
}

/* R-lane over candidates in id order; the removed ids would add zeros. */
static float sum_candidates(const struct power_candidate *c, uint32_t n) {
    float lanes[32] = {0};
    for (uint32_t i = 0; i < n; i++)
        lanes[c[i].id % 32] += c[i].p;
    for (uint32_t half = 16; half; half /= 2) {
        for (uint32_t j = 0; j < half; j++)
            lanes[j] += lanes[j + half];
    }
    return lanes[0];
}

/* Walks by (p descending, id ascending) and keeps while the sum before is below the share. The heap
 * gives up its best first: kept ones gather behind it. */
static uint32_t keep_top_p(struct power_candidate *c, uint32_t n, float share) {
    uint32_t left = n;
    float sum = 0.0f;
    heapify(c, n, larger_p);
    while (left > 0 && (left == n || sum < share)) {
        struct power_candidate best = c[0];
        c[0] = c[--left];
        sift(c, left, 0, larger_p);
        c[left] = best;
        sum = sum + best.p;
    }
    memmove(c, c + left, (n - left) * sizeof *c);
    return n - left;
}

static uint32_t keep_min_p(struct power_candidate *c, uint32_t n, float min_p) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (c[i].p >= min_p) c[kept++] = c[i];
    }
    return kept;
}

static uint32_t survivors(struct power_sampler *sampler, const power_sampling *s, float best) {
    struct power_candidate *c = sampler->candidates;
    bool cuts = s->top_k > 0 && s->top_k < sampler->n_vocab;
    uint32_t n = cuts ? take_top_k(sampler, s->top_k) : take_near(sampler, best);
    if (s->top_p >= 1.0f && s->min_p == 0.0f) return n;
    for (uint32_t i = 0; i < n; i++)
        c[i].p = power_ref_exp(c[i].x - best);
    if (s->top_p < 1.0f) {
        float z = cuts ? sum_candidates(c, n)
                       : sampler->kernels->sum_exp(sampler->x, sampler->n_vocab, best);
        n = keep_top_p(c, n, s->top_p * z);
    }
    if (s->min_p > 0.0f) n = keep_min_p(c, n, s->min_p);
    return n;
}

/* ---- the draw ---- */

/* Noise of the ids, four to a call of the generator; the last group is kept, as ids mostly come in
 * order. */
struct noise {
    const struct power_draw *draw;
    struct power_philox words;
    uint32_t group;
};

static uint32_t noise_bits(struct noise *noise, uint32_t id) {
    const power_sampling *s = noise->draw->sampling;
    if (id / 4 != noise->group) {
        noise->group = id / 4;
        struct power_philox counter = {{id / 4, noise->draw->position, s->choice, 0}};
        noise->words = power_philox(counter, (uint32_t)s->seed, (uint32_t)(s->seed >> 32));
    }
    return noise->words.word[id % 4] >> 9;
}

static float gumbel(uint32_t bits) {
    float u = (2.0f * (float)bits + 1.0f) * 0x1p-24f; /* exact: 24 bits */
    return power_ref_log(-power_ref_log(u));
}

/* -log(-log(u)) <= -log(1 - u), and 1 - u is below 2^-zeros: what the noise adds is less than this.
 */
static float gumbel_bound(uint32_t bits) {
    uint32_t rest = 0x7fffffu - bits;
    int zeros = __builtin_clz((rest << 1) | 1) - 8;
    return 0.70f * (float)(zeros + 1) + 0.02f;
}

static uint32_t draw_candidate(const struct power_candidate *c, uint32_t n,
                               const struct power_draw *draw) {
    struct noise noise = {.draw = draw, .group = UINT32_MAX};
    uint32_t best = 0;
    for (uint32_t i = 1; i < n; i++) {
        if (larger_x(&c[i], &c[best])) best = i;
    }
    uint32_t id = c[best].id; /* the most probable sets a high bar for the rest */
    float score = c[best].x - gumbel(noise_bits(&noise, id));
    for (uint32_t i = 0; i < n; i++) {
        if (i == best || c[i].x + GUMBEL_MOST < score) continue;
        uint32_t bits = noise_bits(&noise, c[i].id);
        if (c[i].x + gumbel_bound(bits) < score) continue;
        float other = c[i].x - gumbel(bits);
        if (other > score || (other == score && c[i].id < id)) {
            score = other;
            id = c[i].id;
        }
    }
    return id;
}

/* The lowest id of the largest; 16 lanes, so that a compiler can keep them in vectors. */
static uint32_t argmax(const float *x, uint32_t n) {
    float lanes[16];
    uint32_t at = 0;
    for (uint32_t j = 0; j < 16; j++)
        lanes[j] = x[0];
    for (; at + 16 <= n; at += 16) {
        for (uint32_t j = 0; j < 16; j++)
            lanes[j] = x[at + j] > lanes[j] ? x[at + j] : lanes[j];
    }
    float most = lanes[0];
    for (uint32_t j = 1; j < 16; j++)
        most = lanes[j] > most ? lanes[j] : most;
    for (; at < n; at++)
        most = x[at] > most ? x[at] : most;
    uint32_t id = 0;
    while (x[id] != most)
        id++;
    return id;
}

static void raw_logprobs(struct power_sampler *sampler, const struct power_draw *draw, uint32_t id,
                         float *out_logprob) {
    const float *logits = draw->logits;
    uint32_t n = sampler->n_vocab;
    float most = logits[argmax(logits, n)];
    float log_sum = power_ref_log(sampler->kernels->sum_exp(logits, n, most));
    *out_logprob = (logits[id] - most) - log_sum;
    if (draw->n_top == 0) return;
    struct power_candidate *c = sampler->candidates;
    take_best(c, draw->n_top, logits, n);
    qsort(c, draw->n_top, sizeof *c, by_x);
    for (uint32_t i = 0; i < draw->n_top; i++)
        draw->top[i] = (power_top_logprob){c[i].id, (c[i].x - most) - log_sum};
}

/* ---- the mask ---- */

static bool may_come(const struct power_draw *draw, uint32_t id) {
    return id < draw->n_mask && draw->mask[id / 64] >> id % 64 & 1;
}

/* A removed id does not exist: what it would have been must not matter. */
static bool is_finite(const struct power_sampler *sampler, const struct power_draw *draw) {
    if (sampler->kernels->max_bits(sampler->x, sampler->n_vocab) < INFINITY_BITS) return true;
    for (uint32_t i = 0; i < sampler->n_vocab; i++) {
        if ((!draw->mask || may_come(draw, i)) && !isfinite(sampler->x[i])) return false;
    }
    return true;
}

static void remove_masked(float *x, uint32_t n, const struct power_draw *draw) {
    uint32_t known = draw->n_mask < n ? draw->n_mask : n;
    for (uint32_t at = 0; at < known; at += 64) {
        uint64_t word = draw->mask[at / 64];
        uint32_t end = known - at < 64 ? known - at : 64;
        if (word == UINT64_MAX) continue;
        for (uint32_t i = 0; i < end; i++)
            x[at + i] = word >> i & 1 ? x[at + i] : REMOVED;
    }
    for (uint32_t at = known; at < n; at++)
        x[at] = REMOVED;
}

/* ---- a row ---- */

/* The order of the profile has the mask first. As nothing before the draw lets one id act upon
 * another, it can as well be applied last. */
static power_status shape(struct power_sampler *sampler, const struct power_draw *draw,
                          power_error *error) {
    const power_sampling *s = draw->sampling;
    float *x = sampler->x;
    uint32_t n = sampler->n_vocab;
    memcpy(x, draw->logits, n * sizeof *x);
    for (size_t i = 0; i < s->n_biases; i++)
        x[s->biases[i].id] += s->biases[i].bias;
    apply_penalties(sampler, draw);
    if (s->temperature != 0.0f && s->temperature != 1.0f) {
        for (uint32_t i = 0; i < n; i++)
            x[i] = x[i] / s->temperature;
    }
    if ((draw->mask || s->temperature != 0.0f) && !is_finite(sampler, draw)) {
        return power_fail(error, POWER_NOT_FINITE,
                          "the logits are not finite after penalties and temperature %g",
                          (double)s->temperature);
    }
    if (draw->mask) remove_masked(x, n, draw);
    return POWER_OK;
}

static power_status choose(struct power_sampler *sampler, const struct power_draw *draw,
                           uint32_t *out_id, power_error *error) {
    if (draw->mask && draw->only != UINT32_MAX) {
        *out_id = draw->only;
        return POWER_OK;
    }
    power_status status = shape(sampler, draw, error);
    if (status != POWER_OK) return status;
    uint32_t best = argmax(sampler->x, sampler->n_vocab);
    *out_id = best;
    if (draw->sampling->temperature == 0.0f) return POWER_OK;
    uint32_t n = survivors(sampler, draw->sampling, sampler->x[best]);
    assert(n > 0);
    *out_id = draw_candidate(sampler->candidates, n, draw);
    return POWER_OK;
}

power_status power_sampler_draw(struct power_sampler *sampler, const struct power_draw *draw,
                                uint32_t *out_id, float *out_logprob, power_error *error) {
    if (sampler->kernels->max_bits(draw->logits, sampler->n_vocab) >= INFINITY_BITS) {
        return power_fail(error, POWER_NOT_FINITE, "the logits are not finite");
    }
    uint32_t id = 0;
    power_status status = choose(sampler, draw, &id, error);
    if (status != POWER_OK) return status;
    *out_logprob = 0.0f;
    if (draw->want_logprob) raw_logprobs(sampler, draw, id, out_logprob);
    *out_id = id;
    return POWER_OK;
}
