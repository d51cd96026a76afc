/* SPDX-License-Identifier: MIT */
/* What commands do with answers: tools in, text, reasoning and calls out.
 * Input: options, deltas. Output: stdout, stderr, collected parts. Owning thread: main.
 * Bounds: the answer's length. */
#ifndef POWER_CMD_ANSWER_H
#define POWER_CMD_ANSWER_H

#include "common.h"

#include <stdbool.h>

struct tool_args {
    const char *tools, *choice, *format;
    int parallel;
};
void add_tool_args(struct arg_table *table, struct tool_args *t);
/* Right after parsing: -1, or a usage error. */
int check_tool_args(const char *command, const struct tool_args *t, bool constrained, bool raw);
/* The file's text, which the caller frees. Each returns -1 or an exit status. */
int read_tools(const char *command, const struct tool_args *t, char **out_json);
/* A constraint where the choice forces a call; the caller closes it. */
int open_tools(const char *command, const struct tool_args *t, const char *tools_json,
               power_model *model, power_constraint **out);
/* The prompt with the tools in it, as text to look at and as ids; the caller frees both. */
int render_tools(const char *command, const power_model *model, const power_message *messages,
                 size_t count, const char *tools_json, char **out, uint32_t **out_ids,
                 size_t *out_count);

/* An answer as it comes. `stream`: text goes to stdout at once, calls as lines of JSON, reasoning
 * to stderr where that is a terminal. Everything is collected besides. */
struct spoken {
    power_answer *answer;
    bool stream;
    char *text, *thoughts, *name, *arguments;
    size_t text_bytes, text_capacity, thoughts_bytes, thoughts_capacity;
    size_t name_bytes, name_capacity, arguments_bytes, arguments_capacity;
    size_t shown; /* of the text, when the last call was printed */
    json_t *calls;
};
/* Generate with show_special: marks may be control tokens. `tools_json`, `format` may be NULL. */
int spoken_open(const char *command, struct spoken *s, power_model *model, const char *tools_json,
                const char *format, const char *prompt, bool stream);
/* False when stdout is gone or there is no memory. */
bool spoken_push(struct spoken *s, const power_delta *delta);
bool spoken_finish(struct spoken *s, bool cut);
void spoken_close(struct spoken *s);

#endif
