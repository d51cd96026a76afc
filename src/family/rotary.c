/* SPDX-License-Identifier: MIT */
/* Rotary frequencies: base, per-dimension factors, linear and YaRN scaling, longrope.
 * Input: metadata and rope tensors. Output: a rope table of the graph. Owner: the building thread.
 * Threads: one. Bounds: at most 2,048 frequencies; scaling types that are not known are refused. */
#include "family/builder.h"

#include "base/rotary.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define MAX_FREQS 2048u
#define TWO_PI 6.283185307179586

struct scaling {
    bool linear, yarn, longrope, llama3;
    float low_freq, high_freq; /* llama3 */
    float factor, attn_factor, ext_factor, beta_fast, beta_slow;
    uint32_t original;
};

static bool text_is(struct power_text text, const char *literal) {
    return power_text_equal(text, power_text_of(literal));
}

static power_status read_scaling(struct power_builder *b, struct scaling *s) {
    char key[128];
    struct power_text type;
    /* A factor without a type is linear, and so is the key of older files. */
    float old = power_builder_f32_or(b, "rope.scale_linear", 1.0f);
    s->factor = power_builder_f32_or(b, "rope.scaling.factor", old);
    struct power_text usual = s->factor != 1.0f ? POWER_TEXT("linear") : POWER_TEXT("none");
    power_status st = power_meta_text_or(
        b->request->source, power_builder_key(b, "rope.scaling.type", key), usual, &type, b->error);
    if (st) return st;
    s->linear = text_is(type, "linear");
    s->yarn = text_is(type, "yarn");
    s->longrope = text_is(type, "longrope");
    s->llama3 = text_is(type, "llama3");
    bool known = s->linear || s->yarn || s->longrope || s->llama3 || text_is(type, "none");
    if (!known) {
        return power_fail(b->error, POWER_UNSUPPORTED,
                          "\"%s\": rope scaling \"%s\" is not supported", key,
                          power_quote(type.bytes, type.length).text);
    }
    s->attn_factor = power_builder_f32_or(b, "rope.scaling.attn_factor", 0.0f);
    s->ext_factor = power_builder_f32_or(b, "rope.scaling.yarn_ext_factor", 1.0f);
    s->beta_fast = power_builder_f32_or(b, "rope.scaling.yarn_beta_fast", 32.0f);
    s->beta_slow = power_builder_f32_or(b, "rope.scaling.yarn_beta_slow", 1.0f);
    s->low_freq = power_builder_f32_or(b, "rope.scaling.low_freq_factor", 1.0f);
    s->high_freq = power_builder_f32_or(b, "rope.scaling.high_freq_factor", 4.0f);
    s->original = power_builder_u32_or(b, "rope.scaling.original_context_length", 0);
    if (!b->status && !(s->factor >= 1e-3f && s->factor <= 1e6f)) {
        b->status = power_fail(b->error, POWER_CORRUPT,
                               "\"%s.rope.scaling.factor\" is out of range", b->hp.architecture);
    }
    if (!b->status && !(s->attn_factor >= 0.0f && s->attn_factor <= 1e6f)) {
        b->status =
            power_fail(b->error, POWER_CORRUPT, "\"%s.rope.scaling.attn_factor\" is out of range",
                       b->hp.architecture);
    }
    bool bands = s->beta_fast > 0.0f && s->beta_fast <= 1e6f && s->beta_slow > 0.0f &&
                 s->beta_slow <= 1e6f && s->ext_factor >= 0.0f && s->ext_factor <= 1.0f &&
                 s->low_freq > 0.0f && s->high_freq > s->low_freq && s->high_freq <= 1e6f;
    if (!b->status && !bands) {
        b->status = power_fail(b->error, POWER_CORRUPT, "\"%s.rope.scaling\": bands out of range",
                               b->hp.architecture);
    }
    if (!b->status && s->longrope && !b->hp.original_context) {
        b->status = power_fail(b->error, POWER_UNSUPPORTED,
                               "\"%s.rope.scaling.type\": longrope is not supported here",
                               b->hp.architecture);
    }
    if (!b->status && (s->yarn || s->llama3) && !s->original) {
        b->status = power_fail(b->error, POWER_CORRUPT,
                               "\"%s.rope.scaling.original_context_length\" is missing",
                               b->hp.architecture);
    }
    return b->status;
}

/* Dimension at which a wave turns `turns` times over the original context (YaRN, arXiv 2309.00071).
 */
static double yarn_dim(double turns, double base, uint32_t rot, uint32_t original) {
    return (double)rot * power_log_double((double)original / (turns * TWO_PI)) /
           (2.0 * power_log_double(base));
}

static double yarn_keep(const struct scaling *s, double base, uint32_t rot, uint32_t i) {
    double low = floor(yarn_dim((double)s->beta_fast, base, rot, s->original));
    double high = ceil(yarn_dim((double)s->beta_slow, base, rot, s->original));
    if (low < 0.0) low = 0.0;
    if (high > (double)(rot - 1)) high = (double)(rot - 1);
    double ramp = ((double)i - low) / (high - low > 0.001 ? high - low : 0.001);
    ramp = ramp < 0.0 ? 0.0 : ramp > 1.0 ? 1.0 : ramp;
    return (1.0 - ramp) * (double)s->ext_factor;
}

/* Llama 3.1: long waves are slowed down by `factor`, short ones kept, those between blended. Every
 * step is rounded to binary32, as in the rope_freqs.weight that GGUF files carry instead. */
static float llama3_factor(const struct scaling *s, double base, uint32_t rot, uint32_t i) {
    float turn = (float)power_exp_double(2.0 * (double)i / (double)rot * power_log_double(base));
    float frequency = 1.0f / turn, original = (float)s->original;
    float wave = (float)TWO_PI / frequency;
    if (wave < original / s->high_freq) return 1.0f;
    if (wave > original / s->low_freq) return s->factor;
    float smooth = (original / wave - s->low_freq) / (s->high_freq - s->low_freq);
    return 1.0f / ((1.0f - smooth) / s->factor + smooth);
}

static power_status check_factors(struct power_builder *b, const char *name, const float *factors,
                                  uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        if (!(factors[i] > 0.0f && factors[i] < 1e30f)) {
            return power_fail(b->error, POWER_CORRUPT,
                              "\"%s\": element %" PRIu32 " is out of range", name, i);
        }
    }
    return POWER_OK;
}

/* One factor a frequency: a tensor (GGUF), a list of metadata (config.json), or ones. */
static power_status read_factors(struct power_builder *b, const char *tensor, const char *list,
                                 uint32_t n, float *out) {
    char key[128];
    struct power_meta_array array;
    for (uint32_t i = 0; i < n; i++)
        out[i] = 1.0f;
    if (power_weights_has(b->request->weights, tensor)) {
        power_status st = power_weights_read_f32(b->request->weights, tensor, out, n, b->error);
        return st ? st : check_factors(b, tensor, out, n);
    }
    if (!power_source_meta(b->request->source, power_builder_key(b, list, key))) return POWER_OK;
    power_status st = power_meta_array(b->request->source, key, POWER_META_F32, &array, b->error);
    if (st) return st;
    if (array.count != n) {
        return power_fail(b->error, POWER_CORRUPT,
                          "\"%s\": %" PRIu64 " numbers where %" PRIu32 " are needed", key,
                          array.count, n);
    }
    memcpy(out, array.values, n * sizeof *out);
    return check_factors(b, key, out, n);
}

static void frequencies(const struct scaling *s, double base, uint32_t rot, const float *factors,
                        float *out) {
    double log_base = power_log_double(base);
    for (uint32_t i = 0; i < rot / 2; i++) {
        double f = power_exp_double(-2.0 * (double)i / (double)rot * log_base);
        f = f / (double)factors[i];
        if (s->linear) f = f / (double)s->factor;
        if (s->yarn) {
            double keep = yarn_keep(s, base, rot, i);
            f = f / (double)s->factor * (1.0 - keep) + f * keep;
        }
        out[i] = (float)f;
    }
}

static double attention_factor(const struct power_builder *b, const struct scaling *s) {
    if (s->yarn) {
        double mscale = 0.1 * power_log_double((double)s->factor) + 1.0;
        return s->attn_factor > 0.0f ? mscale * (double)s->attn_factor : mscale;
    }
    if (!b->hp.original_context) return 1.0;
    if (s->attn_factor > 0.0f) return (double)s->attn_factor;
    double ratio = (double)b->hp.context_length / (double)b->hp.original_context;
    if (ratio <= 1.0 || b->hp.original_context < 2) return 1.0;
    double log_original = power_log_double((double)b->hp.original_context);
    return (double)(float)sqrt(1.0 +
                               power_log_double(ratio) / log_original); /* as files state it */
}

power_status power_family_add_rope(struct power_builder *b, float base, uint32_t rot,
                                   bool with_scaling, uint32_t *out) {
    if (b->status) return b->status;
    struct scaling s = {.factor = 1.0f};
    if (with_scaling) b->status = read_scaling(b, &s);
    if (b->status) return b->status;
    if (rot < 2 || rot % 2 || rot > b->hp.k_dim || rot / 2 > MAX_FREQS) {
        return b->status = power_fail(b->error, POWER_CORRUPT,
                                      "\"%s.rope.dimension_count\": %" PRIu32
                                      " is not an even number up to the head size %" PRIu32,
                                      b->hp.architecture, rot, b->hp.k_dim);
    }
    if (!(base > 1.0f && base < 1e12f)) {
        return b->status = power_fail(b->error, POWER_CORRUPT,
                                      "\"%s.rope.freq_base\" is out of range", b->hp.architecture);
    }
    float factors[MAX_FREQS], first[MAX_FREQS], second[MAX_FREQS];
    char key[128];
    bool two = b->hp.original_context &&
               (power_weights_has(b->request->weights, "rope_factors_long.weight") ||
                power_source_meta(b->request->source,
                                  power_builder_key(b, "rope.scaling.long_factors", key)));
    b->status = read_factors(b, two ? "rope_factors_short.weight" : "rope_freqs.weight",
                             "rope.scaling.short_factors", rot / 2, factors);
    if (b->status) return b->status;
    for (uint32_t i = 0; s.llama3 && i < rot / 2; i++)
        factors[i] = llama3_factor(&s, (double)base, rot, i);
    frequencies(&s, (double)base, rot, factors, first);
    if (two) {
        b->status = read_factors(b, "rope_factors_long.weight", "rope.scaling.long_factors",
                                 rot / 2, factors);
        if (b->status) return b->status;
        frequencies(&s, (double)base, rot, factors, second);
    }
    for (uint32_t i = 0; i < rot / 2; i++) {
        if (isfinite(first[i]) && (!two || isfinite(second[i]))) continue;
        return b->status = power_fail(b->error, POWER_CORRUPT,
                                      "\"%s.rope\": frequency %" PRIu32 " is not finite",
                                      b->hp.architecture, i);
    }
    double factor = attention_factor(b, &s);
    struct power_rope_table table = {.rot_dim = rot,
                                     .inv_freq = first,
                                     .inv_freq_long = two ? second : NULL,
                                     .original_context = two ? b->hp.original_context : 0,
                                     .factor = factor,
                                     .factor_long = factor};
    *out = power_graph_add_rope(b->g, &table); /* copies the arrays */
    return POWER_OK;
}
