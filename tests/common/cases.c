/* SPDX-License-Identifier: MIT */
/* Reading the case table. Input: tests/data/cases. Output: rows.
 * Threads: one. Bounds: files of the cases, read whole. */
#include "cases.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void give_up(const char *what, const char *path) {
    fprintf(stderr, "cases: %s: %s\n", what, path);
    exit(1);
}

static struct case_row row_of(const json_t *object) {
    struct case_row row = {0};
    const char *expect = json_string_value(json_object_get(object, "expect"));
    const char *stage = json_string_value(json_object_get(object, "stage"));
    row.file = json_string_value(json_object_get(object, "file"));
    row.what = json_string_value(json_object_get(object, "what"));
    row.bytes = (uint64_t)json_integer_value(json_object_get(object, "bytes"));
    row.names = json_object_get(object, "names");
    if (!row.file || !expect) give_up("a row without file or expect", "gguf.json");
    if (strcmp(expect, "load") == 0) {
        row.expect = CASE_LOAD;
    } else if (strcmp(expect, "parse") == 0) {
        row.expect = CASE_PARSE;
    } else if (strcmp(expect, "refuse") == 0 && stage && row.names) {
        row.expect = CASE_REFUSE;
        row.at_file_stage = strcmp(stage, "file") == 0;
    } else {
        give_up("an unknown expectation", row.file);
    }
    return row;
}

struct case_table case_table_open(void) {
    static const char path[] = POWER_TEST_DATA "/cases/gguf.json";
    struct case_table table = {0};
    table.root = json_load_file(path, 0, NULL);
    const json_t *files = json_object_get(table.root, "files");
    table.n_rows = json_array_size(files);
    if (table.n_rows == 0) give_up("no table", path);
    table.rows = calloc(table.n_rows, sizeof *table.rows);
    if (!table.rows) give_up("no memory", path);
    for (size_t i = 0; i < table.n_rows; i++) {
        table.rows[i] = row_of(json_array_get(files, i));
    }
    return table;
}

void case_table_close(struct case_table *table) {
    free(table->rows);
    json_decref(table->root);
    *table = (struct case_table){0};
}

const char *case_path(const char *file) {
    static char path[1024];
    snprintf(path, sizeof path, POWER_TEST_DATA "/cases/gguf/%s", file);
    return path;
}

int case_error_matches(const struct case_row *row, const power_error *error) {
    size_t i;
    const json_t *name;
    json_array_foreach(row->names, i, name) {
        const char *text = json_string_value(name);
        if (!text) continue;
        if (strstr(error->message, text)) return 1;
        char *end;
        unsigned long long offset = strtoull(text, &end, 10);
        if (*text && *end == '\0' && error->offset == offset) return 1;
    }
    return 0;
}

unsigned char *case_read(const char *path, size_t *out_length) {
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0) give_up("cannot be read", path);
    long length = ftell(file);
    rewind(file);
    unsigned char *bytes = length < 0 ? NULL : malloc((size_t)length + 1);
    if (!bytes || fread(bytes, 1, (size_t)length, file) != (size_t)length) {
        give_up("cannot be read", path);
    }
    fclose(file);
    *out_length = (size_t)length;
    return bytes;
}

int case_sanitized(void) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return 1;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    return 1;
#else
    return 0;
#endif
#else
    return 0;
#endif
}
