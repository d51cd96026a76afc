/* SPDX-License-Identifier: MIT */
/* power run: one prompt, one answer.
 * Input: a model, a prompt from the command line, a file or a pipe. Output: the answer as it comes.
 * Owning thread: main. Bounds: the prompt must fit the context, else both numbers are printed. */
#include "answer.h"
#include "common.h"

#include "os/os.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char name[] = "run";

struct run {
    struct model_args m;
    struct sampling_args s;
    struct constraint_args c;
    struct tool_args t;
    char *tools;          /* owned text of --tools */
    struct spoken spoken; /* with --tools: the answer taken apart */
    const char *file, *system;
    int raw, stats, json;
    uint32_t top_logprobs; /* UINT32_MAX: no log probabilities */
    const char *prompt;
    char *text; /* owned prompt text */
    size_t text_bytes;
    struct opened o;
    power_constraint *constraint;
    char after[64]; /* the text after which the constraint begins, empty: at once */
    uint32_t *ids;
    size_t n_ids;
    bool collect; /* --json: the answer is kept, not streamed */
    char *answer;
    size_t answer_bytes, answer_capacity;
    json_t *output_ids, *tokens;
};

static int take_prompt(struct run *r, size_t count, const char **positionals) {
    if (count == 2 && r->file) {
        fail_text(name, "a prompt and --file were both given");
        return EXIT_USAGE;
    }
    if (count == 2) {
        r->text = strdup(positionals[1]);
        if (!r->text) return fail_text(name, "out of memory for the prompt");
        r->text_bytes = strlen(r->text);
        return -1;
    }
    if (!r->file && isatty(STDIN_FILENO)) {
        fail_text(name, "no prompt: give one, or --file FILE, or pipe one in");
        return EXIT_USAGE;
    }
    int rc = read_text(name, r->file ? r->file : "-", &r->text, &r->text_bytes);
    if (rc < 0 && !r->raw && r->text_bytes && r->text[r->text_bytes - 1] == '\n')
        r->text[--r->text_bytes] = 0; /* the newline that ends a file is no part of a question */
    return rc;
}

static int encode_prompt(struct run *r) {
    power_error error = {.offset = POWER_NO_OFFSET};
    power_model_info info = {.struct_size = sizeof info};
    if (power_model_get_info(r->o.model, &info, &error)) return fail_with(name, &error);
    if (r->raw || !info.chat_template) {
        if (r->system) return fail_text(name, "--system needs a chat template");
        return tokenize_text(name, r->o.model, r->text, r->text_bytes, 1, 0, &r->ids, &r->n_ids);
    }
    if (memchr(r->text, 0, r->text_bytes))
        return fail_text(name, "the prompt holds a NUL byte; use --raw");
    power_message messages[2];
    size_t n = 0;
    if (r->system) messages[n++] = (power_message){"system", r->system};
    messages[n++] = (power_message){"user", r->text};
    char *rendered = NULL;
    size_t bytes = 0;
    int rc = r->tools ? render_tools(name, r->o.model, messages, n, r->tools, &rendered, &r->ids,
                                     &r->n_ids)
                      : render_messages(name, r->o.model, messages, n, &rendered, &bytes);
    if (rc < 0 && r->tools) bytes = strlen(rendered);
    if (rc < 0 && r->tools)
        rc = spoken_open(name, &r->spoken, r->o.model, r->tools, r->t.format, rendered, !r->json);
    if (rc < 0 && r->constraint && !r->c.after)
        reasoning_end(info.chat_template, rendered, bytes, r->after, sizeof r->after);
    if (rc < 0 && !r->tools) rc = render_ids(name, r->o.model, messages, n, &r->ids, &r->n_ids);
    free(rendered);
    return rc;
}

static json_t *alternatives(const struct run *r, const power_delta *delta) {
    json_t *list = json_array();
    for (size_t i = 0; i < delta->n_top; i++) {
        const power_top_logprob *top = &delta->top[i];
        const char *bytes = "";
        size_t length = 0;
        power_error ignored;
        if (power_token_bytes(r->o.model, top->id, &bytes, &length, &ignored)) length = 0;
        json_array_append_new(list,
                              json_pack("{s:I,s:f,s:o}", "id", (json_int_t)top->id, "logprob",
                                        (double)top->logprob, "bytes", json_bytes(bytes, length)));
    }
    return list;
}

static void keep_token(struct run *r, const power_delta *delta) {
    json_array_append_new(r->output_ids, json_integer(delta->id));
    if (!r->tokens) return;
    json_array_append_new(r->tokens, json_pack("{s:I,s:f,s:o,s:I,s:o}", "id", (json_int_t)delta->id,
                                               "logprob", (double)delta->logprob, "bytes",
                                               json_bytes(delta->token_bytes, delta->n_token_bytes),
                                               "text_offset", (json_int_t)delta->text_offset, "top",
                                               alternatives(r, delta)));
}

static int on_delta(void *context, const power_delta *delta) {
    struct run *r = context;
    if (r->tools && !spoken_push(&r->spoken, delta)) return 1;
    if (r->tools && !r->collect) return 0;
    if (!r->collect) return !write_out(delta->text, delta->text_bytes);
    if (delta->id != UINT32_MAX) keep_token(r, delta); /* else text that was held back */
    if (r->answer_bytes + delta->text_bytes > r->answer_capacity) {
        size_t capacity = 2 * (r->answer_bytes + delta->text_bytes) + 4096;
        char *more = realloc(r->answer, capacity);
        if (!more) return 1;
        r->answer = more;
        r->answer_capacity = capacity;
    }
    memcpy(r->answer + r->answer_bytes, delta->text, delta->text_bytes);
    r->answer_bytes += delta->text_bytes;
    return 0;
}

static double rate(uint64_t tokens, uint64_t ns) {
    return ns ? (double)tokens * 1e9 / (double)ns : 0.0;
}

static void print_stats(const power_generate_result *g) {
    fprintf(stderr,
            "\n%u prompt tokens at %.1f tokens/s, %u answer tokens at %.1f tokens/s, "
            "TTFT %.0f ms, peak memory %.0f MiB, finish: %s\n",
            g->prompt_tokens, rate(g->prompt_tokens, g->prefill_ns), g->output_tokens,
            rate(g->output_tokens ? g->output_tokens - 1 : 0, g->decode_ns),
            (double)g->first_token_ns * 1e-6, (double)power_memory_peak() / 1048576.0,
            finish_text(g->finish));
}

static json_t *answer_json(struct run *r, const power_generate_result *g, uint64_t seed) {
    json_t *usage = json_pack("{s:I,s:I}", "prompt_tokens", (json_int_t)g->prompt_tokens,
                              "output_tokens", (json_int_t)g->output_tokens);
    json_t *timing = json_pack("{s:f,s:f,s:f,s:I}", "prefill_tokens_per_s",
                               rate(g->prompt_tokens, g->prefill_ns), "decode_tokens_per_s",
                               rate(g->output_tokens ? g->output_tokens - 1 : 0, g->decode_ns),
                               "ttft_ms", (double)g->first_token_ns * 1e-6, "peak_memory_bytes",
                               (json_int_t)power_memory_peak());
    json_t *stop = g->stop == UINT32_MAX ? json_null() : json_string(r->s.stops.items[g->stop]);
    json_t *end = g->end_id == UINT32_MAX ? json_null() : json_integer(g->end_id);
    json_t *answer =
        json_pack("{s:o,s:O,s:s,s:o,s:o,s:I,s:o,s:o}", "text",
                  json_text(r->answer ? r->answer : "", r->answer_bytes), "ids", r->output_ids,
                  "finish", finish_text(g->finish), "stop", stop, "end_id", end, "seed",
                  (json_int_t)seed, "usage", usage, "timing", timing);
    if (r->tokens) json_object_set(answer, "tokens", r->tokens);
    if (r->tools) {
        /* "text" stays what the model wrote, marks included. */
        struct spoken *s = &r->spoken;
        json_object_set_new(answer, "content", json_text(s->text ? s->text : "", s->text_bytes));
        json_object_set_new(answer, "reasoning",
                            json_text(s->thoughts ? s->thoughts : "", s->thoughts_bytes));
        json_object_set(answer, "tool_calls", s->calls);
    }
    return answer;
}

/* Whether one of the model's end tokens ended the answer: a stop id is the caller's. */
static bool model_ended(const struct run *r, uint32_t id) {
    power_error ignored;
    power_model_info info = {.struct_size = sizeof info};
    if (id == UINT32_MAX || power_model_get_info(r->o.model, &info, &ignored)) return false;
    for (uint32_t i = 0; i < info.n_end_tokens; i++)
        if (info.end_tokens[i] == id) return true;
    return false;
}

/* A constrained answer is a whole text of its language only where the model ended it. */
static int finish(struct run *r, const power_generate_result *g, uint64_t seed) {
    bool cut = r->constraint && !model_ended(r, g->end_id);
    int rc = EXIT_OK;
    if (r->tools && !spoken_finish(&r->spoken, g->finish != POWER_FINISH_STOP))
        return write_failed(name);
    if (r->json) rc = print_json(name, answer_json(r, g, seed));
    bool line_ends = r->tools && r->spoken.shown == r->spoken.text_bytes; /* a call was the last */
    if (!r->json && !line_ends && !write_out("\n", 1)) return write_failed(name);
    if (g->finish == POWER_FINISH_CONTEXT && !r->json)
        fprintf(stderr, "power run: the context of %u tokens is full (see --ctx)\n", r->o.context);
    if (cut)
        fprintf(stderr, "power run: the constrained answer was cut (finish: %s)\n",
                finish_text(g->finish));
    if (r->stats && !r->json) print_stats(g);
    return rc == EXIT_OK && cut ? EXIT_CUT : rc;
}

static int generate(struct run *r) {
    power_error error = {.offset = POWER_NO_OFFSET};
    power_generate_options g;
    struct sampling_lists lists;
    power_generate_result result = {.struct_size = sizeof result};
    power_generate_options_init(&g);
    int rc = apply_sampling(name, &r->s, r->o.model, &lists, &g);
    if (rc >= 0) return rc;
    g.ids = r->ids;
    g.n_ids = r->n_ids;
    g.on_delta = on_delta;
    g.context = r;
    g.constraint = r->constraint;
    if (r->tools) g.show_special = 1; /* marks may be control tokens */
    if (r->constraint && r->c.after) g.constraint_after = r->c.after;
    if (r->after[0]) g.constraint_after = r->after;
    if (r->tokens) g.n_top_logprobs = r->top_logprobs;
    if (power_generate(r->o.session, &g, &result, &error)) {
        rc = write_failed(name);
        if (rc >= 0) return rc;
        if (error.status == POWER_CANCELLED && !r->json) write_out("\n", 1);
        if (error.status == POWER_CONTEXT_FULL)
            return fail_text(name, "%s (see --ctx)", error.message);
        return fail_with(name, &error);
    }
    rc = write_failed(name);
    return rc >= 0 ? rc : finish(r, &result, g.sampling.seed);
}

/* Options that would have no effect together. */
static int check_output_args(const struct run *r) {
    const char *wrong = NULL;
    if (r->top_logprobs != UINT32_MAX && !r->json)
        wrong = "--logprobs needs --json";
    else if (r->s.special && r->t.tools)
        wrong = "--special excludes --tools, whose answers are taken apart";
    else if (r->system && r->raw)
        wrong = "--system needs a chat template: it excludes --raw";
    if (!wrong) return -1;
    fail_text(name, "%s", wrong);
    return EXIT_USAGE;
}

int command_run(int argc, char **argv) {
    static const struct command command = {
        "run",
        "MODEL [PROMPT]",
        "Answers one prompt with a model; the answer streams to stdout.",
        "power run model.gguf --temperature 0 \"Name three primes.\"",
        1,
        2};
    struct run r = {.top_logprobs = UINT32_MAX};
    model_args_init(&r.m);
    sampling_args_init(&r.s);
    struct arg_table table = {0};
    const struct arg first[] = {
        {ARG_GROUP, NULL, 0, NULL, "prompt", NULL, 0, 0},
        {ARG_TEXT, "file", 'f', "FILE", "prompt from a file (- is stdin, as without PROMPT)",
         &r.file, 0, 0},
        {ARG_TEXT, "system", 's', "TEXT", "system message", &r.system, 0, 0},
        {ARG_FLAG, "raw", 0, NULL,
         "no chat template: the model continues the text (always, if it has none)", &r.raw, 0, 0}};
    const struct arg last[] = {
        {ARG_GROUP, NULL, 0, NULL, "output", NULL, 0, 0},
        {ARG_FLAG, "stats", 0, NULL, "rates, time to first token and memory on stderr", &r.stats, 0,
         0},
        {ARG_FLAG, "json", 0, NULL, "one JSON object at the end instead of the stream", &r.json, 0,
         0},
        {ARG_FLAG, "special", 0, NULL, "show control tokens in the answer", &r.s.special, 0, 0},
        {ARG_U32, "logprobs", 0, "N",
         "with --json: log probabilities of each token and of the N "
         "likeliest, before constraint, penalties and temperature",
         &r.top_logprobs, 0, POWER_MAX_TOP_LOGPROBS}};
    args_extend(&table, first, sizeof first / sizeof first[0]);
    add_model_args(&table, &r.m, CTX_HELP);
    add_sampling_args(&table, &r.s);
    add_constraint_args(&table, &r.c);
    add_tool_args(&table, &r.t);
    args_extend(&table, last, sizeof last / sizeof last[0]);
    const char *positionals[2];
    size_t count = 0;
    int rc = args_parse(&command, table.list, argc, argv, positionals, &count);
    if (rc < 0) rc = check_constraint_args(name, &r.c);
    if (rc < 0) rc = check_tool_args(name, &r.t, has_constraint(&r.c), r.raw);
    if (rc < 0) rc = check_output_args(&r);
    if (rc >= 0) return rc;
    r.collect = r.json != 0;
    r.output_ids = json_array();
    if (r.top_logprobs != UINT32_MAX) r.tokens = json_array();
    rc = take_prompt(&r, count, positionals);
    if (rc < 0) rc = open_model(name, &r.m, positionals[0], false, &r.o);
    if (rc < 0) rc = open_constraint(name, &r.c, r.o.model, &r.constraint);
    if (rc < 0 && r.t.tools) rc = read_tools(name, &r.t, &r.tools);
    if (rc < 0 && r.tools) rc = open_tools(name, &r.t, r.tools, r.o.model, &r.constraint);
    if (rc < 0) rc = encode_prompt(&r);
    if (rc < 0) rc = open_session(name, &r.m, 0, &r.o);
    if (rc < 0) rc = generate(&r);
    if (r.tools) spoken_close(&r.spoken);
    power_constraint_close(r.constraint);
    close_all(&r.o);
    json_decref(r.output_ids);
    json_decref(r.tokens);
    free(r.answer);
    free(r.tools);
    free(r.ids);
    free(r.text);
    return rc;
}
