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
    uint32_t threads, ctx, chunk;
    uint64_t memory;
    uint64_t tokens; /* no option: what a command knows it needs when ctx is not given */
    int no_mmap, no_pack, no_fusion, beyond_trained;
    const char *cpu_mask, *kv, *verify, *sha256, *pre;
};
void model_args_init(struct model_args *m);
#define CTX_HELP "context in tokens (default: the model's, at most 4096)"
void add_model_args(struct arg_table *table, struct model_args *m, const char *ctx_help);

struct opened {
    power_runtime *runtime;
    power_model *model;
    power_session *session;
    uint32_t context;
};
/* Opens runtime and model; then a session, of `at_least` tokens when no context was given (0: the
 * default). Each returns -1, or an exit status after printing why. `command` names the program in
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
    struct arg_list biases, stop_ids, stops;
    int ignore_end;
    int special; /* an option of power run alone: a chat takes its answers apart */
};
void sampling_args_init(struct sampling_args *s);
void add_sampling_args(struct arg_table *table, struct sampling_args *s);

struct sampling_lists {
    power_bias biases[ARG_LIST_MAX];
    uint32_t stop_ids[ARG_LIST_MAX];
    power_stop_text stops[ARG_LIST_MAX];
};
/* Fills the sampling part of `g`: the file's defaults, then what was given. */
int apply_sampling(const char *command, const struct sampling_args *s, const power_model *model,
                   struct sampling_lists *lists, power_generate_options *g);

/* ---- constraint ---- */
struct constraint_args {
    const char *schema, *grammar, *regex, *space, *after;
    struct arg_list choices;
    uint32_t any_depth, leading_space;
    int any_order;
};
void add_constraint_args(struct arg_table *table, struct constraint_args *c);
/* Right after parsing: -1, or a usage error. */
int check_constraint_args(const char *command, const struct constraint_args *c);
bool has_constraint(const struct constraint_args *c);
/* Compiles what was given, if anything, into *out; the caller closes it. */
int open_constraint(const char *command, const struct constraint_args *c, power_model *model,
                    power_constraint **out);
/* What ends the reasoning that a rendered prompt makes a model begin with; false: it does not. */
bool reasoning_end(const char *chat_template, const char *prompt, size_t prompt_bytes, char *out,
                   size_t capacity);

/* ---- text ---- */
/* A whole file ("-": stdin) as NUL-terminated bytes; the caller frees. Returns -1 or an exit
 * status. */
int read_text(const char *command, const char *path, char **out, size_t *out_bytes);
/* Ids of a text; the caller frees. */
int tokenize_text(const char *command, const power_model *model, const char *text, size_t bytes,
                  int add_special, int parse_special, uint32_t **out, size_t *out_count);
/* Renders messages with the model's template, as ids: what the messages spell stays plain text. The
 * caller frees. */
int render_ids(const char *command, const power_model *model, const power_message *messages,
               size_t count, uint32_t **out, size_t *out_count);
/* The text of the same, to look at; the caller frees. */
int render_messages(const char *command, const power_model *model, const power_message *messages,
                    size_t count, char **out, size_t *out_bytes);

/* ---- output ---- */
/* Writes and flushes; false when stdout is gone or full (then write_failed says so on stderr,
 * silently for a closed pipe). */
bool write_out(const char *text, size_t bytes);
/* The same without the flush, for many small pieces; a write_out comes last. */
bool buffer_out(const char *text, size_t bytes);
int write_failed(const char *command);
int fail_with(const char *command, const power_error *error);
int fail_text(const char *command, const char *format, ...) POWER_PRINTF(2, 3);
/* Pretty JSON with a newline; frees the value. Returns an exit status. */
int print_json(const char *command, json_t *value);
/* "stop", "length", "context", "callback" */
const char *finish_text(power_finish finish);
/* Copies to `out`, which has room for three times the bytes; what is no UTF-8 becomes U+FFFD by the
 * WHATWG rule. Returns the length. */
size_t whole_characters(const char *bytes, size_t n_bytes, char *out);
json_t *json_text(const char *bytes, size_t length);  /* whole_characters */
json_t *json_bytes(const char *bytes, size_t length); /* a list of numbers */
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
int command_template(int argc, char **argv);
int command_bench(int argc, char **argv);
int command_doctor(int argc, char **argv);

/* Bytes per second of a streaming read by `threads` threads, over memory too large for caches. */
double probe_memory(uint32_t threads);

#endif
