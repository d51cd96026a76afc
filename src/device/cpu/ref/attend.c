/* SPDX-License-Identifier: MIT */
/* Attention of one kv head over paged keys and values: key chunks of 256 by position, merged in
 * order. Input: query rows at consecutive positions. Output: their results. Threads: any, each with
 * its own scratch. Bounds: the keys first_pos + n_rows - 1 and below (inside the window) are in the
 * pool. */
#include "device/cpu/ref/ref.h"

#include <assert.h>
#include <math.h>

#define KEY_CHUNK 256u
#define SEGMENT 256u

/* The query row of one head, and places for the running result. */
struct head {
    const float *q; /* [k_dim] */
    int8_t *q8;     /* [k_dim], the row quantised once, for Q8_0 keys */
    float *q8_d;    /* [k_dim / 32] */
    float *p;       /* [256] scores, then weights of a key chunk */
    float *o;       /* [v_dim] of the key chunk */
    float *sum_o;   /* [v_dim] so far */
    float max, sum_l;
    bool any;
};

static const unsigned char *layer_of(const struct power_attend *a, uint32_t key) {
    return a->pool + (size_t)a->blocks[key / 64] * a->layout->block_bytes;
}

static float load_float(enum power_dtype dtype, const unsigned char *part, size_t index) {
    float x;
    if (dtype == POWER_DTYPE_F16) {
        return power_ref_half_at(part + index * 2);
    }
    memcpy(&x, part + index * 4, sizeof x);
    return x;
}

/* R-chain over channels; K [kv_head][k_dim][64]. */
static float dot_float(const struct power_attend *a, uint32_t kv_head, uint32_t key,
                       const float *q) {
    const struct power_kv_layout *l = a->layout;
    const unsigned char *part = layer_of(a, key) + l->k_offset;
    float sum = 0.0f;
    for (uint32_t first = 0; first < l->k_dim; first += SEGMENT) {
        const uint32_t end = l->k_dim - first < SEGMENT ? l->k_dim : first + SEGMENT;
        float chain = 0.0f;
        for (uint32_t c = first; c < end; c++) {
            const size_t at = ((size_t)kv_head * l->k_dim + c) * 64 + key % 64;
            chain = fmaf(q[c], load_float(l->dtype, part, at), chain);
        }
        sum = first == 0 ? chain : sum + chain;
    }
    return sum + 0.0f;
}

/* The 32-element quantised product; codes [kv_head][k_dim / 4][64][4]. */
static float dot_q8(const struct power_attend *a, uint32_t kv_head, uint32_t key,
                    const struct head *h) {
    const struct power_kv_layout *l = a->layout;
    const unsigned char *layer = layer_of(a, key);
    const unsigned char *codes = layer + l->k_offset + (size_t)kv_head * l->k_dim * 64;
    float c[4] = {0};
    for (uint32_t b = 0; b < l->k_dim / 32; b++) {
        const size_t scale = ((size_t)kv_head * (l->k_dim / 32) + b) * 64 + key % 64;
        const float d = power_ref_half_at(layer + l->k_scale_offset + scale * 2);
        int32_t isum = 0;
        for (uint32_t i = 32 * b; i < 32 * b + 32; i++) {
            const unsigned char code = codes[((size_t)(i / 4) * 64 + key % 64) * 4 + i % 4];
            isum += (code < 128 ? code : code - 256) * h->q8[i];
        }
        c[b % 4] = fmaf(d * h->q8_d[b], (float)isum, c[b % 4]);
    }
    return ((c[0] + c[1]) + (c[2] + c[3])) + 0.0f;
}

static float score(const struct power_attend *a, uint32_t kv_head, uint32_t key,
                   const struct head *h) {
    const float dot = a->layout->dtype == POWER_DTYPE_Q8_0 ? dot_q8(a, kv_head, key, h)
                                                           : dot_float(a, kv_head, key, h->q);
    const float s = dot * a->scale;
    return a->cap != 0.0f ? a->cap * power_ref_tanh(s / a->cap) : s;
}

/* o[c] = fma(p, v[c], o[c]); V [kv_head][64][v_dim], with Q8_0 v = d * q. */
static void add_value(const struct power_attend *a, uint32_t kv_head, uint32_t key, float p,
                      float *o) {
    const struct power_kv_layout *l = a->layout;
    const unsigned char *layer = layer_of(a, key);
    const size_t row = (size_t)kv_head * 64 + key % 64;
    for (uint32_t c = 0; c < l->v_dim; c++) {
        const size_t at = row * l->v_dim + c;
        float v;
        if (l->dtype == POWER_DTYPE_Q8_0) {
            const size_t scale = row * (l->v_dim / 32) + c / 32;
            const unsigned char code = layer[l->v_offset + at];
            v = power_ref_half_at(layer + l->v_scale_offset + scale * 2) *
                (float)(code < 128 ? code : code - 256);
        } else {
            v = load_float(l->dtype, layer + l->v_offset, at);
        }
        o[c] = fmaf(p, v, o[c]);
    }
}

/* Folds a key chunk's (m, l, o) into the running (max, sum_l, sum_o). */
static void merge(struct head *h, float m, float l, uint32_t v_dim) {
    if (!h->any) {
        h->any = true;
        h->max = m;
        h->sum_l = l;
        memcpy(h->sum_o, h->o, v_dim * sizeof *h->o);
        return;
    }
    const float max = power_ref_max(h->max, m);
    const float a = power_ref_exp(h->max - max), b = power_ref_exp(m - max);
    h->sum_l = fmaf(h->sum_l, a, l * b);
    for (uint32_t c = 0; c < v_dim; c++) {
        h->sum_o[c] = fmaf(h->sum_o[c], a, h->o[c] * b);
    }
    h->max = max;
}

/* Keys [first, end) of one key chunk, all of them visible. */
static void attend_chunk(const struct power_attend *a, uint32_t kv_head, uint32_t first,
                         uint32_t end, struct head *h) {
    const uint32_t v_dim = a->layout->v_dim;
    float m = -INFINITY;
    float lanes[POWER_REF_LANES] = {0};
    for (uint32_t key = first; key < end; key++) {
        h->p[key - first] = score(a, kv_head, key, h);
        m = power_ref_max(m, h->p[key - first]);
    }
    memset(h->o, 0, v_dim * sizeof *h->o);
    for (uint32_t key = first; key < end; key++) {
        const float p = power_ref_exp(h->p[key - first] - m);
        lanes[key % POWER_REF_LANES] = lanes[key % POWER_REF_LANES] + p;
        add_value(a, kv_head, key, p, h->o);
    }
    merge(h, m, power_ref_lane_tree(lanes), v_dim);
}

static void attend_row(const struct power_attend *a, uint32_t kv_head, uint32_t pos, struct head *h,
                       float *out) {
    const uint32_t end = pos + 1;
    uint32_t first = a->window != 0 && end > a->window ? end - a->window : 0;
    h->any = false;
    while (first < end) {
        const uint32_t next = (first / KEY_CHUNK + 1) * KEY_CHUNK;
        attend_chunk(a, kv_head, first, next < end ? next : end, h);
        first = next;
    }
    const float scale = 1.0f / h->sum_l;
    for (uint32_t c = 0; c < a->layout->v_dim; c++) {
        out[c] = h->sum_o[c] * scale + 0.0f;
    }
}

void power_attend_ref(const struct power_attend *a, uint32_t kv_head, void *scratch) {
    const struct power_kv_layout *l = a->layout;
    const uint32_t group = a->n_heads / l->n_kv_heads;
    struct head h = {.p = scratch};
    h.o = h.p + KEY_CHUNK;
    h.sum_o = h.o + l->v_dim;
    h.q8_d = h.sum_o + l->v_dim;
    int16_t *bsums = (int16_t *)(void *)(h.q8_d + l->k_dim / 32);
    h.q8 = (int8_t *)(bsums + l->k_dim / 16);
    assert((size_t)((unsigned char *)(h.q8 + l->k_dim) - (unsigned char *)scratch) <=
           POWER_ATTEND_SCRATCH);
    for (uint32_t r = 0; r < a->n_rows; r++) {
        for (uint32_t head = kv_head * group; head < (kv_head + 1) * group; head++) {
            h.q = a->q + (size_t)r * a->q_stride + (size_t)head * l->k_dim;
            if (l->dtype == POWER_DTYPE_Q8_0) {
                (void)power_quantise_f32_ref(h.q, l->k_dim, 32, h.q8, h.q8_d, bsums);
            }
            attend_row(a, kv_head, a->first_pos + r, &h,
                       a->out + (size_t)r * a->out_stride + (size_t)head * l->v_dim);
        }
    }
}
