/* SPDX-License-Identifier: MIT */
/* Chat templates: the Jinja language as models use it.
 * Input: template text, and variables as JSON. Output: rendered text, or an error with line and
 * column. Threads: compiling one; a compiled template is immutable and renders from any thread.
 * Bounds: budgets for steps, output bytes and nesting; no file, process, clock or network reach. */
#ifndef POWER_TEXT_TEMPLATE_H
#define POWER_TEXT_TEMPLATE_H

#include "base/memory.h"
#include "base/span.h"

struct power_template; /* opaque, owns its arena */

power_status power_template_compile(const power_allocator *allocator, struct power_text text,
                                    struct power_template **out, power_error *error) POWER_MUST_USE;
void power_template_destroy(struct power_template *t);

struct power_template_limits {
    uint64_t max_steps;      /* 0: 10,000,000 */
    size_t max_output_bytes; /* 0: 16 MiB */
    uint32_t max_depth;      /* 0: 200 */
};

struct power_template_input {
    /* One JSON object or empty, whose key order is kept. Its texts are the request's. */
    struct power_text variables;
    /* The same: what the model itself gives (bos_token, ...). `variables` win. */
    struct power_text own;
    int64_t now_unix_s; /* what strftime_now sees (UTC) */
    /* The rest only where `chat` is set. */
    bool chat; /* tools and documents are none unless given; arguments of tool calls that are an
                  object written as text become that object */
    struct power_text messages, tools; /* JSON arrays or empty; they win */
    bool add_generation_prompt;        /* unless `variables` say it */
    /* The text ends where the last message's content ends, as in transformers. */
    bool continue_final_message;
};

/* Appends to `out`. `out_plain`, unless NULL, gets a byte for each byte appended: 0 where the byte
 * is the template's or the model's own, 1 where it came with the request or was computed from that.
 * Control tokens are to be found only where all bytes are 0 (power_tokenize_options.plain).
 * The roles system, user, assistant, tool, developer, function, ipython, model and observation
 * count as the template's own in messages[].role. */
power_status power_template_run(const struct power_template *t,
                                const struct power_template_input *input,
                                const struct power_template_limits *limits,
                                struct power_buffer *out, struct power_buffer *out_plain,
                                power_error *error) POWER_MUST_USE;
/* The same without origins. */
power_status power_template_render(const struct power_template *t, struct power_text variables_json,
                                   int64_t now_unix_s, const struct power_template_limits *limits,
                                   struct power_buffer *out, power_error *error) POWER_MUST_USE;

#endif
