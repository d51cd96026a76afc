/* SPDX-License-Identifier: MIT */
/* What the commands share: opening models, options of models and sampling, output, interruption.
 * Input: parsed options. Output: handles, text on stdout, one-line errors on stderr.
 * Threads: main, and the SIGINT handler for the two atomics behind interrupted().
 * Bounds: texts read from files or pipes are at most TEXT_MAX bytes. */
#ifndef POWER_CMD_COMMON_H
#define POWER_CMD_COMMON_H

#include "args.h"
#include "power/power.h"

#include <jansson.h>

#define TEXT_MAX ((size_t)256 << 20)

/* ---- model ---- */
struct model_args {
    uint32_t threads, ctx, chunk, undo;
    uint64_t memory;
    uint64_t tokens; /* no option: what a command knows it needs when ctx is not given */
    int no_mmap, no_pack, no_fusion;
    const char *cpu_mask, *kv, *verify, *sha256;
};
void model_args_init(struct model_args *m);
#define MODEL_ARGS(m)                                                                               \
    {ARG_GROUP, NULL, 0, NULL, "model", NULL, 0, 0},                                                \
        {ARG_U32,                                                                                   \
         "threads",                                                                                 \
         't',                                                                                       \
         "N",                                                                                       \
         "threads (default: the processors this process may use)",                                  \
         &(m).threads,                                                                              \
         1,                                                                                         \
         1024},                                                                                     \
        {ARG_U32,  "ctx", 'c',     "N", "context in tokens (default: the model's, at most 4096)",   \
         &(m).ctx, 1,     1u << 28},                                                                \
        {ARG_U32, "chunk", 0, "N", "prompt rows of one step (default: 512)", &(m).chunk, 1, 8192},  \
        {ARG_TEXT, "kv", 0, "TYPE", "KV cache type: f16, f32 or q8_0 (default: f16)",               \
         &(m).kv,  0,    0},                                                                        \
        {ARG_BYTES,   "memory", 0, "SIZE", "memory limit, as in 8G (default: physical memory)",     \
         &(m).memory, 0,        0},                                                                 \
        {ARG_TEXT,                                                                                  \
         "cpu-mask",                                                                                \
         0,                                                                                         \
         "LIST",                                                                                    \
         "instruction sets allowed: all, none, avx2, avx512, vnni (default: all)",                  \
         &(m).cpu_mask,                                                                             \
         0,                                                                                         \
         0},                                                                                        \
        {ARG_FLAG, "no-mmap", 0, NULL, "read the file instead of mapping it", &(m).no_mmap, 0, 0},  \
        {ARG_FLAG,     "no-pack", 0, NULL, "use the file's layout as it is (same bits)",            \
         &(m).no_pack, 0,         0},                                                               \
        {ARG_FLAG, "no-fusion", 0, NULL, "one step an operator (same bits)", &(m).no_fusion, 0, 0}, \
        {ARG_TEXT,    "verify", 0, "WHEN", "hash the file: once, always or never (default: once)",  \
         &(m).verify, 0,        0},                                                                 \
    {                                                                                               \
        ARG_TEXT, "sha256", 0, "HEX", "expected digest of the file; another fails", &(m).sha256,    \
            0, 0                                                                                    \
    }

struct opened {
    power_runtime *runtime;
    power_model *model;
    power_session *session;
    uint32_t context;
};
/* Opens runtime and model, and a session when `session` is true and the needed context (0:
 * default). Returns -1, or an exit status after printing why. `command` names the program in
 * messages. */
int open_model(const char *command, const struct model_args *m, const char *path,
               bool metadata_only, struct opened *out);
int open_session(const char *command, const struct model_args *m, uint32_t at_least,
                 struct opened *o);
void close_all(struct opened *o);

/* ---- sampling ---- */
struct sampling_args {
    float temperature, top_p, min_p, repetition, presence, frequency;
    uint32_t top_k, max_tokens;
    const char *seed;
    struct arg_list biases, stop_ids;
    int ignore_end, special;
};
void sampling_args_init(struct sampling_args *s);
#define SAMPLING_ARGS(s)                                                                            \
    {ARG_GROUP, NULL, 0, NULL, "sampling (defaults: the model file's, else those named)",           \
     NULL,      0,    0},                                                                           \
        {ARG_FLOAT, "temperature", 0, "X", "0 is greedy (default: 0.8)", &(s).temperature, 0, 100}, \
        {ARG_U32, "top-k", 0, "N", "0 is off (default: 40)", &(s).top_k, 0, 1u << 24},              \
        {ARG_FLOAT, "top-p", 0, "X", "1 is off (default: 0.95)", &(s).top_p, 0, 1},                 \
        {ARG_FLOAT, "min-p", 0, "X", "0 is off (default: 0.05)", &(s).min_p, 0, 1},                 \
        {ARG_FLOAT, "repetition-penalty", 0, "X", "1 is off (default: 1)", &(s).repetition, 0.01,   \
         100},                                                                                      \
        {ARG_FLOAT, "presence-penalty", 0, "X", "0 is off (default: 0)", &(s).presence, -100, 100}, \
        {ARG_FLOAT, "frequency-penalty", 0, "X", "0 is off (default: 0)", &(s).frequency, -100,     \
         100},                                                                                      \
        {ARG_LIST,                                                                                  \
         "logit-bias",                                                                              \
         0,                                                                                         \
         "ID=X",                                                                                    \
         "adds X to the logit of a token; may be repeated",                                         \
         &(s).biases,                                                                               \
         0,                                                                                         \
         0},                                                                                        \
        {ARG_TEXT,  "seed", 0, "N", "a number, or random, which is printed (default: 0)",           \
         &(s).seed, 0,      0},                                                                     \
        {ARG_U32,                                                                                   \
         "max-tokens",                                                                              \
         'n',                                                                                       \
         "N",                                                                                       \
         "longest answer (default: until the context is full)",                                     \
         &(s).max_tokens,                                                                           \
         1,                                                                                         \
         1u << 28},                                                                                 \
        {ARG_LIST,      "stop-id", 0, "ID", "a token id that ends the answer; may be repeated",     \
         &(s).stop_ids, 0,         0},                                                              \
        {ARG_FLAG, "ignore-end", 0, NULL, "go on after the model's end tokens", &(s).ignore_end, 0, \
         0},                                                                                        \
    {                                                                                               \
        ARG_FLAG, "special", 0, NULL, "show control tokens", &(s).special, 0, 0                     \
    }

struct sampling_lists {
    power_bias biases[ARG_LIST_MAX];
    uint32_t stop_ids[ARG_LIST_MAX];
};
/* Fills the sampling part of `g`: the file's defaults, then what was given. */
int apply_sampling(const char *command, const struct sampling_args *s, const power_model *model,
                   struct sampling_lists *lists, power_generate_options *g);

/* ---- text ---- */
/* A whole file ("-": stdin) as NUL-terminated bytes; the caller frees. Returns -1 or an exit
 * status. */
int read_text(const char *command, const char *path, char **out, size_t *out_bytes);
/* Ids of a text; the caller frees. */
int tokenize_text(const char *command, const power_model *model, const char *text, size_t bytes,
                  int add_special, int parse_special, uint32_t **out, size_t *out_count);
/* Renders messages with the model's template; the caller frees. */
int render_messages(const char *command, const power_model *model, const power_message *messages,
                    size_t count, char **out, size_t *out_bytes);

/* ---- output ---- */
/* Writes and flushes; false when stdout is gone or full (then write_failed says so on stderr,
 * silently for a closed pipe). */
bool write_out(const char *text, size_t bytes);
int write_failed(const char *command);
int fail_with(const char *command, const power_error *error);
int fail_text(const char *command, const char *format, ...) POWER_PRINTF(2, 3);
/* Pretty JSON with a newline; frees the value. Returns an exit status. */
int print_json(const char *command, json_t *value);
json_t *json_text(const char *bytes, size_t length); /* broken UTF-8 becomes U+FFFD */
bool use_colour(void);
/* Progress of loading on a terminal; nothing elsewhere. */
int show_progress(void *context, double done);
void end_progress(void);

/* ---- interruption ---- */
/* From here on SIGINT sets a flag and cancels the session's call. */
void interrupt_watch(power_session *session);
bool interrupted(void);
void interrupt_clear(void);

int command_run(int argc, char **argv);
int command_chat(int argc, char **argv);
int command_perplexity(int argc, char **argv);
int command_show(int argc, char **argv);
int command_tokenize(int argc, char **argv);
int command_bench(int argc, char **argv);
int command_doctor(int argc, char **argv);

/* Bytes per second of a streaming read by `threads` threads, over memory too large for caches. */
double probe_memory(uint32_t threads);

#endif
