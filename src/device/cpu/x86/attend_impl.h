/* SPDX-License-Identifier: MIT */
/* Attention by key chunks of 256 for one vector width; included once by each attend_<path>.c.
 * Input: query rows, a KV block table. Output: attention rows, the bits of ref/attend.c.
 * Threads: any; all working space is the caller's scratch.
 * Bounds: query heads x rows are cut into passes whose working space fits the scratch; keys outside
 * a row's live range never reach a maximum, a sum or a channel. */
#include <math.h>

#include "device/cpu/ref/ref.h"
#include "device/cpu/x86/attend_tile.h"
#include "device/cpu/x86/paths.h"
#include "device/cpu/x86/vmath.h"

enum { PASS_QUERIES = 96, STAGE_TILES = 6 /* tiles from which halves are widened once */ };

struct query {
    uint32_t lo, hi; /* live keys [lo, hi) */
    float m, l;      /* merged over the key chunks so far */
    float chunk_m, chunk_l;
    bool started;
};

/* Some queries (row-major over rows, then heads of the group) of one kv head. */
struct pass {
    const struct power_attend *a;
    uint32_t kv_head, group, first, n_q, n_tiles, v_pad;
    struct query *query; /* [n_q] */
    float *q;            /* [n_tiles][k_dim][TILE] */
    int32_t *codes;      /* Q8_0: [n_tiles][k_dim / 4][TILE] */
    float *d;            /* Q8_0: [n_tiles][k_dim / 32][TILE] */
    int32_t *sum128;     /* as d */
    int8_t *row_codes;   /* Q8_0: one quantised query */
    float *row_d;
    int16_t *row_sums;
    float *s;         /* [n_q][CHUNK]: scores, then p */
    float *o, *total; /* [n_q][v_pad] */
    float *keys;      /* [min(k_dim, SEGMENT)][BLOCK] widened */
    float *values;    /* [BLOCK][v_pad] widened */
};

static uint32_t tile_first(const struct pass *p, uint32_t tile) {
    return tile * p->n_q / p->n_tiles;
}

static const unsigned char *block_of(const struct pass *p, uint32_t pos) {
    const struct power_attend *a = p->a;
    return a->pool + (size_t)a->blocks[pos / BLOCK] * a->layout->block_bytes;
}

/* ---- working space ---- */
static void *take(unsigned char **at, size_t bytes) {
    void *p = *at;
    *at += (bytes + 63) / 64 * 64;
    return p;
}

/* Lays the space of n_q queries out from `base`; returns its end. */
static unsigned char *lay_out(struct pass *p, unsigned char *base, uint32_t n_q) {
    const size_t k = p->a->layout->k_dim, slots = (size_t)(n_q + TILE - 1) / TILE * TILE;
    const bool codes = p->a->layout->dtype == POWER_DTYPE_Q8_0;
    unsigned char *at = base;
    p->query = take(&at, n_q * sizeof *p->query);
    if (codes) {
        p->codes = take(&at, slots * k);
        p->d = take(&at, slots * (k / 32) * sizeof(float));
        p->sum128 = take(&at, slots * (k / 32) * sizeof(int32_t));
        p->row_codes = take(&at, k);
        p->row_d = take(&at, k / 32 * sizeof(float));
        p->row_sums = take(&at, k / 16 * sizeof(int16_t));
    } else {
        p->q = take(&at, slots * k * sizeof(float));
        p->keys = take(&at, (k < SEGMENT ? k : SEGMENT) * BLOCK * sizeof(float));
    }
    p->s = take(&at, (size_t)n_q * CHUNK * sizeof(float));
    p->o = take(&at, (size_t)n_q * p->v_pad * sizeof(float));
    p->total = take(&at, (size_t)n_q * p->v_pad * sizeof(float));
    p->values = take(&at, (size_t)BLOCK * p->v_pad * sizeof(float));
    return at;
}

/* ---- queries ---- */
static const float *query_row(const struct pass *p, uint32_t i) {
    const uint32_t at = p->first + i, row = at / p->group;
    const size_t head = (size_t)p->kv_head * p->group + at % p->group;
    return p->a->q + row * p->a->q_stride + head * p->a->layout->k_dim;
}

static void pack_codes(struct pass *p, uint32_t tile, uint32_t r, const float *x) {
    const uint32_t k = p->a->layout->k_dim, n_blocks = k / 32;
    int32_t *codes = p->codes + (size_t)tile * (k / 4) * TILE;
    const size_t base = (size_t)tile * n_blocks * TILE;
    POWER_ATTEND_QUANTISE(x, k, 32, p->row_codes, p->row_d, p->row_sums);
    for (uint32_t g = 0; g < k / 4; g++) {
        memcpy(codes + (size_t)g * TILE + r, p->row_codes + g * 4, 4);
    }
    for (uint32_t b = 0; b < n_blocks; b++) {
        p->d[base + (size_t)b * TILE + r] = p->row_d[b];
        p->sum128[base + (size_t)b * TILE + r] =
            128 * (p->row_sums[2 * b] + p->row_sums[2 * b + 1]);
    }
}

static void pack_queries(struct pass *p) {
    const struct power_attend *a = p->a;
    const uint32_t k = a->layout->k_dim;
    for (uint32_t tile = 0; tile < p->n_tiles; tile++) {
        const uint32_t begin = tile_first(p, tile), end = tile_first(p, tile + 1);
        for (uint32_t i = begin; i < end; i++) {
            const float *x = query_row(p, i);
            const uint32_t hi = a->first_pos + (p->first + i) / p->group + 1;
            p->query[i] =
                (struct query){.hi = hi, .lo = a->window && hi > a->window ? hi - a->window : 0};
            if (a->layout->dtype == POWER_DTYPE_Q8_0) {
                pack_codes(p, tile, i - begin, x);
                continue;
            }
            float *out = p->q + (size_t)tile * k * TILE + (i - begin);
            for (uint32_t c = 0; c < k; c++)
                out[(size_t)c * TILE] = x[c];
        }
    }
}

/* ---- scores of one block ---- */
static bool tile_meets(const struct pass *p, uint32_t tile, uint32_t pos) {
    return p->query[tile_first(p, tile)].lo < pos + BLOCK &&
           p->query[tile_first(p, tile + 1) - 1].hi > pos;
}

static void score_keys_q8(struct pass *p, uint32_t pos) {
    const struct power_kv_layout *l = p->a->layout;
    const unsigned char *block = block_of(p, pos);
    const size_t head = p->kv_head, n_blocks = l->k_dim / 32;
    const void *k = block + l->k_offset + head * l->k_dim * BLOCK;
    const void *scales = block + l->k_scale_offset + head * n_blocks * BLOCK * sizeof(uint16_t);
    for (uint32_t tile = 0; tile < p->n_tiles; tile++) {
        if (!tile_meets(p, tile, pos)) continue;
        const uint32_t begin = tile_first(p, tile), n = tile_first(p, tile + 1) - begin;
        const struct score_codes c = {p->codes + (size_t)tile * (l->k_dim / 4) * TILE,
                                      p->d + tile * n_blocks * TILE,
                                      p->sum128 + tile * n_blocks * TILE};
        score_codes_tiles[n - 1](k, scales, &c, (uint32_t)n_blocks,
                                 p->s + (size_t)begin * CHUNK + pos % CHUNK);
    }
}

static void score_keys(struct pass *p, uint32_t pos) {
    const struct power_kv_layout *l = p->a->layout;
    if (l->dtype == POWER_DTYPE_Q8_0) {
        score_keys_q8(p, pos);
        return;
    }
    const bool stored_half = l->dtype == POWER_DTYPE_F16;
    const size_t size = stored_half ? 2 : 4;
    const unsigned char *head =
        block_of(p, pos) + l->k_offset + (size_t)p->kv_head * l->k_dim * BLOCK * size;
    const bool stage = stored_half && p->n_tiles >= STAGE_TILES;
    for (uint32_t c = 0; c < l->k_dim; c += SEGMENT) {
        const uint32_t n_channels = l->k_dim - c < SEGMENT ? l->k_dim - c : SEGMENT;
        const void *k = head + (size_t)c * BLOCK * size;
        if (stage) {
            for (size_t i = 0; i < (size_t)n_channels * BLOCK; i += LANES) {
                vf_store(p->keys + i, vf_load_half((const uint16_t *)k + i));
            }
            k = p->keys;
        }
        for (uint32_t tile = 0; tile < p->n_tiles; tile++) {
            if (!tile_meets(p, tile, pos)) continue;
            const uint32_t begin = tile_first(p, tile), n = tile_first(p, tile + 1) - begin;
            const float *q = p->q + ((size_t)tile * l->k_dim + c) * TILE;
            score_tiles[stored_half && !stage][n - 1](
                k, q, n_channels, p->s + (size_t)begin * CHUNK + pos % CHUNK, c > 0);
        }
    }
}

/* ---- p of one query and key chunk ---- */

/* `x` in the live lanes [lo, hi) of the vector at `at`, `other` in the rest. */
VEC vf keep_live(vf x, vf other, uint32_t at, uint32_t lo, uint32_t hi) {
    if (at >= lo && at + LANES <= hi) return x;
    const vm below = vm_first(lo > at ? lo - at : 0);
    return vf_select(vm_and(vm_first(hi > at ? hi - at : 0), vm_not(below)), x, other);
}

/* The greatest lane of all vectors, none of them NaN. */
VEC float max_of(const vf x[VECS32]) {
    float lane[32], m = -INFINITY;
    UNROLL for (uint32_t v = 0; v < VECS32; v++) vf_store(lane + v * LANES, x[v]);
    for (int i = 0; i < 32; i++)
        m = lane[i] > m ? lane[i] : m;
    return m;
}

/* s [CHUNK] holds the sums q.k of the live keys [lo, hi): scores replace them; returns the maximum.
 */
VEC float scale_scores(const struct power_attend *a, const bool capped, float *s, uint32_t lo,
                       uint32_t hi) {
    const vf scale = vf_set(a->scale), cap = vf_set(a->cap), low = vf_set(-INFINITY);
    vf m[VECS32], strange = vf_zero(); /* the last NaN of each lane */
    UNROLL for (uint32_t v = 0; v < VECS32; v++) m[v] = low;
    for (uint32_t i = lo / 32 * 32; i < hi; i += 32) {
        UNROLL for (uint32_t v = 0; v < VECS32; v++) {
            const uint32_t at = i + v * LANES;
            vf x = vf_mul(vf_add(vf_load(s + at), vf_zero()), scale);
            if (capped) x = vf_mul(cap, vf_tanh(vf_div(x, cap)));
            vf_store(s + at, x);
            x = keep_live(x, low, at, lo, hi);
            strange = vf_select(vf_unord(x, x), x, strange);
            m[v] = vf_max(x, m[v]);
        }
    }
    return vm_any(vf_unord(strange, strange)) ? NAN : max_of(m);
}

/* s [CHUNK] holds the sums q.k of the keys [lo, hi) of the chunk; p replaces them. */
static void chunk_softmax(const struct power_attend *a, float *s, uint32_t lo, uint32_t hi,
                          struct query *query) {
    query->chunk_m =
        a->cap != 0.0f ? scale_scores(a, true, s, lo, hi) : scale_scores(a, false, s, lo, hi);
    const vf m = vf_set(query->chunk_m);
    vf sum[VECS32];
    UNROLL for (uint32_t v = 0; v < VECS32; v++) sum[v] = vf_zero();
    for (uint32_t i = lo / 32 * 32; i < hi; i += 32) {
        UNROLL for (uint32_t v = 0; v < VECS32; v++) {
            const uint32_t at = i + v * LANES;
            const vf p = vf_exp(vf_sub(vf_load(s + at), m));
            const vf kept = keep_live(p, vf_zero(), at, lo, hi);
            vf_store(s + at, kept);
            sum[v] = vf_add(sum[v], kept);
        }
    }
    query->chunk_l = vf_lane_reduce(sum);
}

/* ---- channels of one block ---- */

/* n halves, zero beyond. */
VEC vf load_half_n(const uint16_t *p, uint32_t n) {
    uint16_t part[LANES] = {0};
    if (n == LANES) return vf_load_half(p);
    memcpy(part, p, n * sizeof part[0]);
    return vf_load_half(part);
}

/* One row of v_dim values to [v_pad] floats. */
VEC void stage_row(enum power_dtype dtype, const unsigned char *v, const uint16_t *scales,
                   size_t row, uint32_t v_dim, float *out) {
    for (uint32_t c = 0; c < v_dim; c += LANES) {
        const uint32_t n = lanes_of(v_dim - c, 0);
        const size_t at = row * v_dim + c;
        if (dtype == POWER_DTYPE_Q8_0) {
            vf_store(out + c, load_codes((const int8_t *)v, scales, at));
        } else if (dtype == POWER_DTYPE_F32) {
            vf_store(out + c, vf_load_n((const float *)(const void *)v + at, n));
        } else {
            vf_store(out + c, load_half_n((const uint16_t *)(const void *)v + at, n));
        }
    }
}

/* Rows [from, to) of a block. */
static void stage_values(struct pass *p, const unsigned char *v, const uint16_t *scales,
                         uint32_t from, uint32_t to) {
    const uint32_t v_dim = p->a->layout->v_dim;
    float *out = p->values + (size_t)from * p->v_pad;
    for (uint32_t j = from; j < to; j++, out += p->v_pad) {
        switch ((int)p->a->layout->dtype) {
        case POWER_DTYPE_Q8_0:
            stage_row(POWER_DTYPE_Q8_0, v, scales, j, v_dim, out);
            break;
        case POWER_DTYPE_F32:
            stage_row(POWER_DTYPE_F32, v, scales, j, v_dim, out);
            break;
        default:
            stage_row(POWER_DTYPE_F16, v, scales, j, v_dim, out);
            break;
        }
    }
}

/* Where the values of one block are and how they are read. */
struct value_block {
    const unsigned char *v; /* key 0, channel 0 */
    const uint16_t *scales; /* VALUE_CODES */
    size_t stride, size;    /* elements between keys, bytes of an element */
    enum value_kind kind;
    uint32_t pos;
};

/* Keys [from, to) of the block for queries [i, i + n), columns of `n_vecs` vectors from channel c.
 */
static void add_values(struct pass *p, const struct value_block *b, uint32_t i, uint32_t n,
                       uint32_t from, uint32_t to, uint32_t c, uint32_t n_vecs) {
    if (from >= to) return;
    const size_t at = (from - b->pos) * b->stride + c;
    value_tiles[b->kind][n_vecs >> 1][n - 1](b->v + at * b->size, b->scales + at / 32, b->stride,
                                             p->s + (size_t)i * CHUNK + from % CHUNK, to - from,
                                             p->o + (size_t)i * p->v_pad + c, p->v_pad);
}

/* A tile's queries have unequal live ranges: the keys that all see go together, the others one
 * query at a time, before and after, so that every chain is ascending. */
static void add_tile(struct pass *p, const struct value_block *b, uint32_t tile, uint32_t c,
                     uint32_t n_vecs) {
    const uint32_t begin = tile_first(p, tile), end = tile_first(p, tile + 1);
    const uint32_t last = b->pos + BLOCK;
    uint32_t from = p->query[end - 1].lo, to = p->query[begin].hi;
    from = from > b->pos ? from : b->pos;
    to = to < last ? to : last;
    if (from >= to) from = to = last;
    for (uint32_t i = begin; i < end; i++) {
        const struct query *q = &p->query[i];
        const uint32_t lo = q->lo > b->pos ? q->lo : b->pos;
        add_values(p, b, i, 1, lo, q->hi < from ? q->hi : from, c, n_vecs);
    }
    add_values(p, b, begin, end - begin, from, to, c, n_vecs);
    for (uint32_t i = begin; i < end; i++) {
        const struct query *q = &p->query[i];
        add_values(p, b, i, 1, to, q->hi < last ? q->hi : last, c, n_vecs);
    }
}

static uint32_t column_vecs(uint32_t left, uint32_t tile_queries) {
    const uint32_t most = REGISTERS == 32 || tile_queries <= WIDE_QUERIES ? 4 : 2;
    uint32_t n = most;
    while (n * LANES > left)
        n /= 2;
    return n;
}

static void add_block(struct pass *p, uint32_t pos) {
    const struct power_kv_layout *l = p->a->layout;
    const unsigned char *block = block_of(p, pos);
    const bool codes = l->dtype == POWER_DTYPE_Q8_0, halves = l->dtype == POWER_DTYPE_F16;
    const size_t size = codes ? 1 : halves ? 2 : 4, head = p->kv_head;
    const unsigned char *v = block + l->v_offset + head * BLOCK * l->v_dim * size;
    const unsigned char *scales =
        block + l->v_scale_offset + head * BLOCK * (l->v_dim / 32) * sizeof(uint16_t);
    struct value_block b = {v,
                            (const uint16_t *)(const void *)scales,
                            l->v_dim,
                            size,
                            codes    ? VALUE_CODES
                            : halves ? VALUE_HALF
                                     : VALUE_FLOAT,
                            pos};
    if (l->v_dim % LANES || (b.kind != VALUE_FLOAT && p->n_tiles >= STAGE_TILES)) {
        const uint32_t lo = p->query[0].lo, hi = p->query[p->n_q - 1].hi;
        stage_values(p, v, b.scales, lo > pos ? lo - pos : 0, hi < pos + BLOCK ? hi - pos : BLOCK);
        b = (struct value_block){
            (const unsigned char *)p->values, b.scales, p->v_pad, sizeof(float), VALUE_FLOAT, pos};
    }
    const uint32_t most = (p->n_q + p->n_tiles - 1) / p->n_tiles;
    for (uint32_t c = 0, n_vecs; c < p->v_pad; c += n_vecs * LANES) {
        n_vecs = column_vecs(p->v_pad - c, most);
        for (uint32_t tile = 0; tile < p->n_tiles; tile++) {
            if (tile_meets(p, tile, pos)) add_tile(p, &b, tile, c, n_vecs);
        }
    }
}

/* ---- merge and result ---- */
static float exp_one(float x) {
    float lane[LANES];
    vf_store(lane, vf_exp(vf_set(x)));
    return lane[0];
}

static void merge(struct pass *p, uint32_t i) {
    struct query *q = &p->query[i];
    float *total = p->total + (size_t)i * p->v_pad;
    const float *o = p->o + (size_t)i * p->v_pad;
    if (!q->started) {
        q->started = true;
        q->m = q->chunk_m;
        q->l = q->chunk_l;
        memcpy(total, o, p->v_pad * sizeof *o);
        return;
    }
    float m = q->m > q->chunk_m ? q->m : q->chunk_m;
    if (isnan(q->m)) m = q->m;
    const float x = exp_one(q->m - m), y = exp_one(q->chunk_m - m);
    const vf a = vf_set(x), b = vf_set(y);
    q->m = m;
    q->l = fmaf(q->l, x, q->chunk_l * y);
    for (uint32_t c = 0; c < p->v_pad; c += LANES) {
        vf_store(total + c, vf_fma(vf_load(total + c), a, vf_mul(vf_load(o + c), b)));
    }
}

static void run_chunk(struct pass *p, uint32_t base) {
    const uint32_t lo = p->query[0].lo, hi = p->query[p->n_q - 1].hi;
    const uint32_t from = (lo > base ? lo : base) / BLOCK * BLOCK;
    const uint32_t to = hi < base + CHUNK ? hi : base + CHUNK;
    for (uint32_t pos = from; pos < to; pos += BLOCK)
        score_keys(p, pos);
    for (uint32_t i = 0; i < p->n_q; i++) {
        struct query *q = &p->query[i];
        const uint32_t first = q->lo > base ? q->lo - base : 0;
        const uint32_t end = q->hi < base + CHUNK ? q->hi - base : CHUNK;
        if (q->hi <= base || first >= end) continue;
        chunk_softmax(p->a, p->s + (size_t)i * CHUNK, first, end, q);
        memset(p->o + (size_t)i * p->v_pad, 0, p->v_pad * sizeof(float));
    }
    for (uint32_t pos = from; pos < to; pos += BLOCK)
        add_block(p, pos);
    for (uint32_t i = 0; i < p->n_q; i++) {
        if (p->query[i].lo < base + CHUNK && p->query[i].hi > base) merge(p, i);
    }
}

static void finish(const struct pass *p, uint32_t i) {
    const struct power_attend *a = p->a;
    const uint32_t at = p->first + i, v_dim = a->layout->v_dim;
    const size_t head = (size_t)p->kv_head * p->group + at % p->group;
    float *out = a->out + at / p->group * a->out_stride + head * v_dim;
    const float *total = p->total + (size_t)i * p->v_pad;
    const vf scale = vf_set(1.0f / p->query[i].l);
    for (uint32_t c = 0; c < v_dim; c += LANES) {
        const vf x = vf_add(vf_mul(vf_load(total + c), scale), vf_zero());
        vf_store_n(out + c, x, lanes_of(v_dim - c, 0));
    }
}

void FN(attend)(const struct power_attend *a, uint32_t kv_head, void *scratch) {
    struct pass p = {.a = a, .kv_head = kv_head, .group = a->n_heads / a->layout->n_kv_heads};
    const uint32_t n_queries = a->n_rows * p.group;
    p.v_pad = (a->layout->v_dim + LANES - 1) / LANES * LANES;
    unsigned char *base = scratch;
    uint32_t most = n_queries < PASS_QUERIES ? n_queries : PASS_QUERIES;
    while (most > 1 && lay_out(&p, base, most) > base + POWER_ATTEND_SCRATCH)
        most /= 2;
    if (lay_out(&p, base, most) > base + POWER_ATTEND_SCRATCH) {
        power_attend_ref(a, kv_head, scratch);
        return;
    }
    const uint32_t n_passes = (n_queries + most - 1) / most;
    for (uint32_t pass = 0; pass < n_passes; pass++) {
        p.first = (uint32_t)((uint64_t)pass * n_queries / n_passes);
        p.n_q = (uint32_t)((uint64_t)(pass + 1) * n_queries / n_passes) - p.first;
        p.n_tiles = (p.n_q + TILE - 1) / TILE;
        lay_out(&p, base, p.n_q);
        pack_queries(&p);
        const uint32_t hi = p.query[p.n_q - 1].hi;
        for (uint32_t at = p.query[0].lo / CHUNK * CHUNK; at < hi; at += CHUNK)
            run_chunk(&p, at);
        for (uint32_t i = 0; i < p.n_q; i++)
            finish(&p, i);
    }
}
