/* SPDX-License-Identifier: MIT */
/* The GGUF reader on the hostile cases and on what is derived from them: prefixes, flipped bits,
 * random changes. Input: tests/data/cases. Output: each file is read or refused as its row says;
 * nothing that is derived crashes, leaks, or costs more memory than its size justifies. Threads:
 * one. Bounds: 20,000 random changes, 2,000 under a sanitizer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "../../fuzz/common.h"
#include "../common/cases.h"

static void check_row(const struct case_row *row, bool use_mmap) {
    struct power_source_options options = {.use_mmap = use_mmap};
    struct power_source *source = NULL;
    power_error error = {0};
    const char *path = case_path(row->file);
    power_status status =
        power_source_open(&power_default_allocator, path, &options, &source, &error);
    if (row->expect != CASE_REFUSE || !row->at_file_stage) {
        if (status != POWER_OK) fail_msg("%s: %s", row->file, error.message);
        assert_int_equal(source->files[0].file.size_bytes, row->bytes);
        fuzz_walk(source);
        power_source_close(source);
        return;
    }
    if (status == POWER_OK) fail_msg("%s was read (%s)", row->file, row->what);
    assert_null(source);
    assert_int_equal(error.status, status);
    assert_null(strchr(error.message, '/'));
    if (!case_error_matches(row, &error)) fail_msg("%s: %s", row->file, error.message);
}

static void test_each_file(void **state) {
    (void)state;
    struct case_table table = case_table_open();
    assert_true(table.n_rows >= 33);
    for (size_t i = 0; i < table.n_rows; i++) {
        check_row(&table.rows[i], true);
        check_row(&table.rows[i], false);
    }
    case_table_close(&table);
}

/* A cut file, on the heap at its exact size so that ASan sees a read past its end. Returns the
 * error. */
static power_status open_prefix(const unsigned char *bytes, size_t length, power_error *error) {
    unsigned char *copy = malloc(length ? length : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, length);
    struct power_source *source = NULL;
    power_status status =
        power_source_open_memory(&power_default_allocator, copy, length, &source, error);
    power_source_close(source);
    free(copy);
    return status;
}

static void test_prefixes(void **state) {
    (void)state;
    static const char *const bases[] = {"one-tensor.gguf", "micro.gguf"};
    static const char *const names[] = {"truncated", "past the end", "too short", "probe.w",
                                        "general.architecture"};
    for (size_t b = 0; b < 2; b++) {
        size_t length;
        unsigned char *bytes = case_read(case_path(bases[b]), &length);
        for (size_t n = 0; n < length; n++) {
            power_error error = {0};
            if (open_prefix(bytes, n, &error) == POWER_OK) fail_msg("%s: %zu bytes", bases[b], n);
            bool named = b != 0;
            for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
                named = named || strstr(error.message, names[i]);
            }
            if (!named) fail_msg("%s: %zu bytes: %s", bases[b], n, error.message);
        }
        power_error error = {0};
        assert_int_equal(open_prefix(bytes, length, &error), POWER_OK);
        free(bytes);
    }
}

/* Where the tensor data of a valid file begins. */
static size_t data_start(const unsigned char *bytes, size_t length) {
    struct power_source *source = NULL;
    assert_int_equal(
        power_source_open_memory(&power_default_allocator, bytes, length, &source, NULL), POWER_OK);
    uint64_t least = length;
    for (uint32_t i = 0; i < source->n_tensors; i++) {
        if (source->tensors[i].offset < least) least = source->tensors[i].offset;
    }
    power_source_close(source);
    return (size_t)least;
}

static void flip_bits(const char *file, bool header_only, size_t step) {
    size_t length;
    unsigned char *bytes = case_read(case_path(file), &length);
    size_t end = header_only ? data_start(bytes, length) : length;
    assert_true(end > 24);
    for (size_t bit = 0; bit < end * 8; bit += step) {
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        fuzz_open(bytes, length);
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    free(bytes);
}

static void test_flipped_bits(void **state) {
    (void)state;
    flip_bits("one-tensor.gguf", false, 1);
    flip_bits("micro.gguf", true, case_sanitized() ? 13 : 1);
}

static uint32_t next_random(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33);
}

static void test_random_changes(void **state) {
    (void)state;
    size_t length;
    unsigned char *bytes = case_read(case_path("tiny-llama.gguf"), &length);
    size_t header = data_start(bytes, length);
    uint64_t seed = 1;
    int rounds = case_sanitized() ? 2000 : 20000;
    for (int i = 0; i < rounds; i++) {
        /* One to four bytes; three of four rounds change the header, where there is much to break.
         */
        size_t places[4], n = 1 + next_random(&seed) % 4, span = i % 4 ? header : length;
        unsigned char kept[4];
        for (size_t j = 0; j < n; j++) {
            places[j] = next_random(&seed) % span;
            kept[j] = bytes[places[j]];
            bytes[places[j]] = (unsigned char)next_random(&seed);
        }
        fuzz_open(bytes, length);
        for (size_t j = n; j-- > 0;) {
            bytes[places[j]] = kept[j];
        }
    }
    power_error error = {0};
    assert_int_equal(open_prefix(bytes, length, &error), POWER_OK);
    free(bytes);
}

int main(void) {
    /* No file here justifies more; a sanitizer needs the address space for itself. */
    struct rlimit limit = {(rlim_t)512 << 20, (rlim_t)512 << 20};
    if (!case_sanitized() && setrlimit(RLIMIT_AS, &limit) != 0) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_file),
        cmocka_unit_test(test_prefixes),
        cmocka_unit_test(test_flipped_bits),
        cmocka_unit_test(test_random_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
