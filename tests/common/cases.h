/* SPDX-License-Identifier: MIT */
/* The table of model files that broke other engines (tests/data/cases/gguf.json).
 * Input: that file. Output: one row for each model file, and whether an error is the one it asks
 * for. Threads: one. Bounds: the table's own. */
#ifndef POWER_TESTS_CASES_H
#define POWER_TESTS_CASES_H

#include <jansson.h>

#include "power/status.h"

enum case_expect {
    CASE_LOAD,  /* runs */
    CASE_PARSE, /* a container that is no whole model */
    CASE_REFUSE
};

struct case_row {
    const char *file; /* name inside the folder of the cases */
    const char *what;
    enum case_expect expect;
    int at_file_stage; /* refused by the container's reader; else when the model is opened */
    uint64_t bytes;
    const json_t *names; /* one of these is in the message; a number may be the error's offset */
};

struct case_table {
    json_t *root;
    struct case_row *rows;
    size_t n_rows;
};

/* Exits with a message when the table cannot be read: a test without its cases proves nothing. */
struct case_table case_table_open(void);
void case_table_close(struct case_table *table);
/* Path of a file of the cases, valid until the next call. */
const char *case_path(const char *file);
/* 1 when the error names what the row asks for. */
int case_error_matches(const struct case_row *row, const power_error *error);
/* A whole file on the heap; exits when it cannot be read. */
unsigned char *case_read(const char *path, size_t *out_length);
/* 1 when this program was built with AddressSanitizer or ThreadSanitizer: run fewer rounds. */
int case_sanitized(void);

#endif
