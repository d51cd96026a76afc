/* SPDX-License-Identifier: MIT */
/* See args.h. Job: parse and explain options. Input: argv. Output: values, help, one-line faults.
 * Owning thread: main. Bounds: nothing is allocated. */
#include "args.h"

#include "power/status.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void args_extend(struct arg_table *table, const struct arg *part, size_t count) {
    assert(count <= ARGS_MAX - table->count);
    memcpy(table->list + table->count, part, count * sizeof *part);
    table->count += count;
}

bool args_unsigned(const char *text, uint64_t *out) {
    char *end;
    if (*text < '0' || *text > '9') return false;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno || *end) return false;
    *out = value;
    return true;
}

bool args_number(const char *text, double *out) {
    char *end;
    if (!*text || strspn(text, "+-.0123456789eE") != strlen(text)) return false;
    errno = 0;
    double value = strtod(text, &end);
    if (errno || *end || !isfinite(value)) return false;
    *out = value;
    return true;
}

static bool parse_bytes(const char *text, uint64_t *out) {
    static const char units[] = "KMGT";
    char digits[32];
    size_t n = strspn(text, "0123456789");
    if (!n || n >= sizeof digits) return false;
    memcpy(digits, text, n);
    digits[n] = 0;
    uint64_t value;
    if (!args_unsigned(digits, &value)) return false;
    const char *rest = text + n;
    if (*rest) {
        const char *unit = strchr(units, *rest);
        if (!unit) return false;
        unsigned shift = 10u * (unsigned)(unit - units + 1);
        if (value > UINT64_MAX >> shift) return false;
        value <<= shift;
        rest++;
        if (!strcmp(rest, "iB") || !strcmp(rest, "B")) rest += strlen(rest);
    }
    *out = value;
    return !*rest;
}

enum { HELP_COLUMN = 31, HELP_WIDTH = 80 };

/* From HELP_COLUMN on, where the cursor stands already; words stay whole. */
static void print_wrapped(const char *text) {
    size_t column = HELP_COLUMN;
    while (*text) {
        size_t word = strcspn(text, " ");
        bool first = column == HELP_COLUMN;
        if (!first && column + 1 + word > HELP_WIDTH) {
            printf("\n%*s", HELP_COLUMN, "");
            column = HELP_COLUMN;
            first = true;
        }
        printf("%s%.*s", first ? "" : " ", (int)word, text);
        column += word + !first;
        text += word;
        text += strspn(text, " ");
    }
    printf("\n");
}

static void print_option(const struct arg *a) {
    char left[64];
    char letter[8] = "    ";
    if (a->letter) snprintf(letter, sizeof letter, "-%c, ", a->letter);
    snprintf(left, sizeof left, "%s--%s%s%s", letter, a->name, a->meta ? " " : "",
             a->meta ? a->meta : "");
    printf("  %-28s ", left);
    print_wrapped(a->help);
}

static void print_help(const struct command *command, const struct arg *args) {
    printf("%s\n\nusage: power %s [options]%s%s\n", command->summary, command->name,
           *command->usage ? " " : "", command->usage);
    if (args->kind != ARG_GROUP) printf("\noptions\n");
    for (const struct arg *a = args; a->kind != ARG_END; a++) {
        if (a->kind == ARG_GROUP) {
            printf("\n%s\n", a->help);
        } else {
            print_option(a);
        }
    }
    printf("\n  %-28s %s\n", "-h, --help", "this text");
    printf("\nexample: %s\n", command->example);
}

static int usage(const struct command *command, const char *format, ...) POWER_PRINTF(2, 3);
static int usage(const struct command *command, const char *format, ...) {
    char text[256];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    fprintf(stderr, "power %s: %s (see power %s --help)\n", command->name, text, command->name);
    return EXIT_USAGE;
}

static const struct arg *find(const struct arg *args, const char *name, size_t length,
                              char letter) {
    for (; args->kind != ARG_END; args++) {
        if (args->kind == ARG_GROUP) continue;
        if (letter ? args->letter == letter
                   : strlen(args->name) == length && !memcmp(args->name, name, length))
            return args;
    }
    return NULL;
}

static bool in_range(const struct arg *a, double value) {
    return value >= a->low && value <= a->high;
}

static bool store(const struct arg *a, const char *value) {
    uint64_t u;
    double d;
    struct arg_list *list = a->out;
    switch (a->kind) {
    case ARG_U32:
        if (!args_unsigned(value, &u) || u > UINT32_MAX || !in_range(a, (double)u)) return false;
        *(uint32_t *)a->out = (uint32_t)u;
        return true;
    case ARG_U64:
        if (!args_unsigned(value, &u)) return false;
        *(uint64_t *)a->out = u;
        return true;
    case ARG_FLOAT:
        if (!args_number(value, &d) || !in_range(a, d)) return false;
        *(float *)a->out = (float)d;
        return true;
    case ARG_BYTES:
        return parse_bytes(value, a->out);
    case ARG_TEXT:
        *(const char **)a->out = value;
        return true;
    case ARG_LIST:
        if (list->count == ARG_LIST_MAX) return false;
        list->items[list->count++] = value;
        return true;
    case ARG_END:
    case ARG_GROUP:
    case ARG_FLAG:
        break;
    }
    return false;
}

static int bad_value(const struct command *command, const struct arg *a, const char *value) {
    char range[96] = "";
    if (a->kind == ARG_U32 || a->kind == ARG_FLOAT)
        snprintf(range, sizeof range, ", want a number from %.10g to %.10g", a->low, a->high);
    if (a->kind == ARG_U64) snprintf(range, sizeof range, ", want an unsigned 64-bit number");
    if (a->kind == ARG_BYTES) snprintf(range, sizeof range, ", want bytes, as in 512M or 8G");
    if (a->kind == ARG_LIST) snprintf(range, sizeof range, ", given too often");
    char name[160];
    snprintf(name, sizeof name, "--%s%s", a->name, range);
    return usage(command, "wrong value \"%.40s\" for %s", value, name);
}

/* One option at argv[*at]; -1 to go on. */
static int parse_option(const struct command *command, const struct arg *args, int argc,
                        char **argv, int *at) {
    const char *text = argv[*at];
    bool is_long = text[1] == '-';
    const char *equals = is_long ? strchr(text, '=') : NULL;
    size_t length = equals ? (size_t)(equals - text - 2) : strlen(text) - (is_long ? 2 : 1);
    if (!strcmp(text, "--help") || !strcmp(text, "-h")) {
        print_help(command, args);
        return fflush(stdout) || ferror(stdout) ? EXIT_FAILED : EXIT_OK;
    }
    if (!is_long && length != 1) return usage(command, "unknown option \"%.40s\"", text);
    const struct arg *a = is_long ? find(args, text + 2, length, 0) : find(args, "", 0, text[1]);
    if (!a) return usage(command, "unknown option \"%.40s\"", text);
    if (a->kind == ARG_FLAG) {
        if (equals) return usage(command, "option \"--%s\" takes no value", a->name);
        *(int *)a->out = 1;
        return -1;
    }
    const char *value = equals ? equals + 1 : ++*at < argc ? argv[*at] : NULL;
    if (!value) return usage(command, "option \"--%s\" needs a value", a->name);
    return store(a, value) ? -1 : bad_value(command, a, value);
}

int args_parse(const struct command *command, const struct arg *args, int argc, char **argv,
               const char **positionals, size_t *out_count) {
    size_t count = 0;
    bool options = true;
    for (int at = 0; at < argc; at++) {
        const char *text = argv[at];
        if (options && !strcmp(text, "--")) {
            options = false;
        } else if (options && text[0] == '-' && text[1]) {
            int rc = parse_option(command, args, argc, argv, &at);
            if (rc >= 0) return rc;
        } else if (count < command->max_positionals) {
            positionals[count++] = text;
        } else {
            return usage(command, "too many arguments: \"%.60s\"", text);
        }
    }
    if (count < command->min_positionals)
        return usage(command, "missing argument, usage: power %s %s", command->name,
                     command->usage);
    *out_count = count;
    return -1;
}
