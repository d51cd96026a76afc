/* SPDX-License-Identifier: MIT */
/* The options that several commands take: models and sampling.
 * Input: where values go. Output: entries of a table, defaults. Owning thread: main. Bounds:
 * ARGS_MAX. */
#include "common.h"

#include <math.h>

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

void model_args_init(struct model_args *m) {
    *m = (struct model_args){.cpu_mask = "all", .kv = "f16", .verify = "once"};
}

void add_model_args(struct arg_table *table, struct model_args *m, const char *ctx_help) {
    const struct arg list[] = {
        {ARG_GROUP, NULL, 0, NULL, "model", NULL, 0, 0},
        {ARG_U32, "threads", 't', "N", "threads (default: the processors this process may use)",
         &m->threads, 1, 1024},
        {ARG_U32, "ctx", 'c', "N", ctx_help, &m->ctx, 1, 1u << 28},
        {ARG_FLAG, "beyond-trained", 0, NULL,
         "allow a context longer than the model was trained for", &m->beyond_trained, 0, 0},
        {ARG_U32, "chunk", 0, "N", "prompt tokens of one step (default: 512)", &m->chunk, 1, 8192},
        {ARG_TEXT, "kv", 0, "TYPE", "KV cache type: f16, f32 or q8_0 (default: f16)", &m->kv, 0, 0},
        {ARG_BYTES, "memory", 0, "SIZE", "memory limit, as in 8G (default: physical memory)",
         &m->memory, 0, 0},
        {ARG_TEXT, "cpu-mask", 0, "LIST",
         "instruction sets allowed: all, none, avx2, avx512, vnni, neon, dotprod, i8mm "
         "(default: all)",
         &m->cpu_mask, 0, 0},
        {ARG_FLAG, "no-mmap", 0, NULL, "read the file instead of mapping it", &m->no_mmap, 0, 0},
        {ARG_FLAG, "no-pack", 0, NULL, "do not repack weights for this processor (same results)",
         &m->no_pack, 0, 0},
        {ARG_FLAG, "no-fusion", 0, NULL, "run each operator by itself (same results)",
         &m->no_fusion, 0, 0},
        {ARG_TEXT, "verify", 0, "WHEN",
         "compute the file's SHA-256 once, always or never (default: once)", &m->verify, 0, 0},
        {ARG_TEXT, "sha256", 0, "HEX", "SHA-256 that the file must have", &m->sha256, 0, 0},
        {ARG_TEXT, "pre", 0, "NAME", "pre-tokenizer by name (default: the one the file names)",
         &m->pre, 0, 0}};
    args_extend(table, list, COUNT(list));
}

void sampling_args_init(struct sampling_args *s) {
    *s = (struct sampling_args){.temperature = NAN,
                                .top_p = NAN,
                                .min_p = NAN,
                                .repetition = NAN,
                                .presence = NAN,
                                .frequency = NAN,
                                .top_k = UINT32_MAX};
}

void add_sampling_args(struct arg_table *table, struct sampling_args *s) {
    const struct arg list[] = {
        {ARG_GROUP, NULL, 0, NULL, "sampling (defaults: the model file's, else those named)", NULL,
         0, 0},
        {ARG_FLOAT, "temperature", 0, "X", "0 is greedy (default: 0.8)", &s->temperature, 0, 100},
        {ARG_U32, "top-k", 0, "N", "0 is off (default: 40)", &s->top_k, 0, 1u << 24},
        {ARG_FLOAT, "top-p", 0, "X", "1 is off (default: 0.95)", &s->top_p, 0, 1},
        {ARG_FLOAT, "min-p", 0, "X", "0 is off (default: 0.05)", &s->min_p, 0, 1},
        {ARG_FLOAT, "repetition-penalty", 0, "X", "1 is off (default: 1)", &s->repetition, 0.01,
         100},
        {ARG_FLOAT, "presence-penalty", 0, "X", "0 is off (default: 0)", &s->presence, -100, 100},
        {ARG_FLOAT, "frequency-penalty", 0, "X", "0 is off (default: 0)", &s->frequency, -100, 100},
        {ARG_LIST, "logit-bias", 0, "ID=X", "adds X to the logit of a token; may be repeated",
         &s->biases, 0, 0},
        {ARG_TEXT, "seed", 0, "N",
         "a number, or random, which is printed (default: 0: the same answer each time)", &s->seed,
         0, 0},
        {ARG_U32, "max-tokens", 'n', "N", "longest answer (default: until the context is full)",
         &s->max_tokens, 1, 1u << 28},
        {ARG_LIST, "stop", 0, "TEXT",
         "end the answer before this text; may be repeated, the first to come wins", &s->stops, 0,
         0},
        {ARG_LIST, "stop-id", 0, "ID", "end the answer at this token id; may be repeated",
         &s->stop_ids, 0, 0},
        {ARG_FLAG, "ignore-end", 0, NULL, "go on after the model's end tokens", &s->ignore_end, 0,
         0}};
    args_extend(table, list, COUNT(list));
}
