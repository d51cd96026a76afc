/* SPDX-License-Identifier: MIT */
/* Sampling settings: the stated defaults, then what the model's file says.
 * Input: metadata general.sampling.*, generation_config.json. Output: settings in their ranges.
 * Threads: any. Bounds: values out of range are refused by name. */
#include <jansson.h>

#include "api/runtime.h"

void power_sampling_init(power_sampling *sampling) {
    if (!sampling) return;
    *sampling = (power_sampling){.struct_size = sizeof *sampling,
                                 .temperature = 0.8f,
                                 .top_k = 40,
                                 .top_p = 0.95f,
                                 .min_p = 0.05f,
                                 .repetition_penalty = 1.0f};
}

static power_status from_metadata(const struct power_source *source, power_sampling *s,
                                  power_error *error) {
    const struct {
        const char *key;
        float *value;
    } floats[] = {
        {"general.sampling.temp", &s->temperature},
        {"general.sampling.top_p", &s->top_p},
        {"general.sampling.min_p", &s->min_p},
        {"general.sampling.penalty_repeat", &s->repetition_penalty},
        {"general.sampling.penalty_present", &s->presence_penalty},
        {"general.sampling.penalty_freq", &s->frequency_penalty},
    };
    for (size_t i = 0; i < sizeof floats / sizeof floats[0]; i++) {
        power_status status =
            power_meta_f32_or(source, floats[i].key, *floats[i].value, floats[i].value, error);
        if (status != POWER_OK) return status;
    }
    const struct power_meta *top_k = power_source_meta(source, "general.sampling.top_k");
    if (top_k && top_k->type == POWER_META_I32 && top_k->value.i < 0) {
        s->top_k = 0; /* negative: all tokens */
        return POWER_OK;
    }
    return power_meta_u32_or(source, "general.sampling.top_k", s->top_k, &s->top_k, error);
}

static void take_number(const json_t *root, const char *key, float *out) {
    const json_t *value = json_object_get(root, key);
    if (json_is_number(value)) *out = (float)json_number_value(value);
}

static void from_config(struct power_text text, power_sampling *s) {
    if (text.length == 0) return;
    json_t *root = json_loadb(text.bytes, text.length, 0, NULL);
    take_number(root, "temperature", &s->temperature);
    take_number(root, "top_p", &s->top_p);
    take_number(root, "min_p", &s->min_p);
    take_number(root, "repetition_penalty", &s->repetition_penalty);
    const json_t *top_k = json_object_get(root, "top_k");
    if (json_is_integer(top_k) && json_integer_value(top_k) >= 0 &&
        json_integer_value(top_k) <= INT32_MAX) {
        s->top_k = (uint32_t)json_integer_value(top_k);
    }
    if (json_is_false(json_object_get(root, "do_sample"))) s->temperature = 0.0f;
    json_decref(root);
}

power_status power_model_sampling(const power_model *model, power_sampling *out_sampling,
                                  power_error *error) {
    if (!model || !out_sampling)
        return power_fail(error, POWER_INVALID, "model or sampling is NULL");
    power_sampling sampling;
    power_sampling_init(&sampling);
    from_config(model->source->generation_config_json, &sampling);
    power_status status = from_metadata(model->source, &sampling, error);
    if (status == POWER_OK) status = power_sampling_check(&sampling, UINT32_MAX, error);
    if (status != POWER_OK) return status;
    *out_sampling = sampling;
    return POWER_OK;
}
