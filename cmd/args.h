/* SPDX-License-Identifier: MIT */
/* Command-line arguments from a table: parsing, checking, help.
 * Input: argv and a table of options. Output: values behind the table's pointers, positionals.
 * Threads: main. Bounds: numbers are checked against the table's range; a wrong one is one line and
 * exit status 2. */
#ifndef POWER_CMD_ARGS_H
#define POWER_CMD_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum arg_kind {
    ARG_END = 0,
    ARG_GROUP, /* a heading in --help; only `help` is used */
    ARG_FLAG,  /* int: 1 when given */
    ARG_U32,   /* uint32_t in [low, high] */
    ARG_U64,
    ARG_FLOAT, /* float in [low, high] */
    ARG_BYTES, /* uint64_t; K, M, G, T as powers of 1024 */
    ARG_TEXT,  /* const char * */
    ARG_LIST   /* struct arg_list: may be given several times */
};

#define ARG_LIST_MAX 64
struct arg_list {
    const char *items[ARG_LIST_MAX];
    size_t count;
};

struct arg {
    enum arg_kind kind;
    const char *name; /* without "--" */
    char letter;      /* or 0 */
    const char *meta; /* what the value is called in --help */
    const char *help; /* ends with the default in parentheses where there is one */
    void *out;
    double low, high;
};

struct command {
    const char *name;
    const char *usage;   /* positionals, e.g. "MODEL [PROMPT]" */
    const char *summary; /* one sentence */
    const char *example;
    size_t min_positionals, max_positionals;
};

/* A table put together from parts; zeroed at first, so that it always ends with ARG_END. */
#define ARGS_MAX 96
struct arg_table {
    struct arg list[ARGS_MAX + 1];
    size_t count;
};
void args_extend(struct arg_table *table, const struct arg *part, size_t count);

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_CUT = 3, EXIT_INTERRUPTED = 130 };

/* Returns -1 to go on, else the exit status (help was printed, or a line about the fault).
 * `positionals` has room for command->max_positionals. `--` ends options. */
int args_parse(const struct command *command, const struct arg *args, int argc, char **argv,
               const char **positionals, size_t *out_count);
/* One number in a text, all of it; used for options and for lists such as ID=BIAS. */
bool args_number(const char *text, double *out);
bool args_unsigned(const char *text, uint64_t *out);

#endif
