/* SPDX-License-Identifier: MIT */
/* Recurrent state for one vector width: the gated delta net, the convolution step; included by
 * vector_<path>.c after reduce_impl.h.
 * Input: a state or history and one row. Output: the row's result and the new state, the bits of
 * ref/recurrent.c. Threads: any; a head's state belongs to one thread. Bounds: shapes as given. */

enum { STATE_VECS = LANES == 16 ? 4 : 2 }; /* value columns a sweep holds, in vectors */

VEC vf close_chains(const vf c[4]) {
    return vf_add(vf_add(vf_add(c[0], c[1]), vf_add(c[2], c[3])), vf_zero());
}

/* `n_vecs` vectors of columns; the last has `last` columns. Decay is applied twice to the old state
 * (the same product both times) instead of being stored between the two sums. */
VEC void delta_columns(const uint32_t n_vecs, uint32_t last, float *state, uint32_t d_k, size_t d_v,
                       const float *q, const float *k, const float *v, float g, float beta,
                       float *out) {
    vf c[STATE_VECS][4], u[STATE_VECS];
    const vf decay = vf_set(g);
    UNROLL for (uint32_t n = 0; n < n_vecs; n++) {
        UNROLL for (uint32_t j = 0; j < 4; j++) c[n][j] = vf_zero();
    }
    for (uint32_t i = 0; i < d_k; i += 4) {
        UNROLL for (uint32_t j = 0; j < 4; j++) {
            if (i + j >= d_k) break;
            const float *row = state + (i + j) * d_v;
            const vf x = vf_set(k[i + j]);
            UNROLL for (uint32_t n = 0; n < n_vecs; n++) {
                const uint32_t left = n + 1 < n_vecs ? LANES : last;
                const vf s = vf_mul(vf_load_n(row + n * LANES, left), decay);
                c[n][j] = vf_fma(s, x, c[n][j]);
            }
        }
    }
    UNROLL for (uint32_t n = 0; n < n_vecs; n++) {
        const vf value = vf_load_n(v + n * LANES, n + 1 < n_vecs ? LANES : last);
        u[n] = vf_mul(vf_sub(value, close_chains(c[n])), vf_set(beta));
        UNROLL for (uint32_t j = 0; j < 4; j++) c[n][j] = vf_zero();
    }
    for (uint32_t i = 0; i < d_k; i += 4) {
        UNROLL for (uint32_t j = 0; j < 4; j++) {
            if (i + j >= d_k) break;
            float *row = state + (i + j) * d_v;
            const vf x = vf_set(k[i + j]), y = vf_set(out ? q[i + j] : 0.0f);
            UNROLL for (uint32_t n = 0; n < n_vecs; n++) {
                const uint32_t left = n + 1 < n_vecs ? LANES : last;
                vf s = vf_mul(vf_load_n(row + n * LANES, left), decay);
                s = vf_fma(x, u[n], s);
                vf_store_n(row + n * LANES, s, left);
                c[n][j] = vf_fma(s, y, c[n][j]);
            }
        }
    }
    if (!out) return;
    UNROLL for (uint32_t n = 0; n < n_vecs; n++) {
        vf_store_n(out + n * LANES, close_chains(c[n]), n + 1 < n_vecs ? LANES : last);
    }
}

void FN(delta_f32)(float *state, uint32_t d_k, uint32_t d_v, const float *q, const float *k,
                   const float *v, float g, float beta, float *out) {
    uint32_t j = 0;
    for (; d_v - j >= STATE_VECS * LANES; j += STATE_VECS * LANES) {
        delta_columns(STATE_VECS, LANES, state + j, d_k, d_v, q, k, v + j, g, beta,
                      out ? out + j : NULL);
    }
    for (; j < d_v; j += LANES) {
        delta_columns(1, lanes_of(d_v - j, 0), state + j, d_k, d_v, q, k, v + j, g, beta,
                      out ? out + j : NULL);
    }
}

VEC vf gather(const float *p, vi index) {
#if LANES == 4
    float part[LANES];
    int32_t at[LANES];
    vst1q_s32(at, index);
    for (uint32_t i = 0; i < LANES; i++)
        part[i] = p[at[i]];
    return vf_load(part);
#elif LANES == 16
    return _mm512_mask_i32gather_ps(vf_zero(), vm_first(LANES), index, p, 4);
#else
    return _mm256_i32gather_ps(p, index, 4);
#endif
}

/* Lane = channel; w [channels][kernel] is read with a stride. */
void FN(conv_step_f32)(const float *const *taps, const float *w, uint32_t channels, uint32_t kernel,
                       float *y) {
    int32_t at[LANES];
    for (uint32_t i = 0; i < LANES; i++)
        at[i] = (int32_t)(i * kernel);
    const vi index = vi_load(at);
    uint32_t c = 0;
    for (; channels - c >= LANES; c += LANES) {
        vf sum = vf_zero();
        for (uint32_t j = 0; j < kernel; j++) {
            if (!taps[j]) continue;
            sum = vf_fma(gather(w + (size_t)c * kernel + j, index), vf_load(taps[j] + c), sum);
        }
        vf_store(y + c, vf_add(sum, vf_zero()));
    }
    for (; c < channels; c++) {
        float sum = 0.0f;
        for (uint32_t j = 0; j < kernel; j++) {
            if (taps[j]) sum = fmaf(w[(size_t)c * kernel + j], taps[j][c], sum);
        }
        y[c] = sum + 0.0f;
    }
}
