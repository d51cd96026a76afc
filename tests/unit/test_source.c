/* SPDX-License-Identifier: MIT */
/* Sources: typed getters, refusals by name, split sets, digests, changed files, failing memory.
 * Input: tests/data/cases and files written here. Output: pass or fail.
 * Threads: one. Bounds: files of a few KiB. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../common/cases.h"
#include "format/internal.h"

static char folder[] = "/tmp/power-test-source-XXXXXX";
static const power_allocator *const standard = &power_default_allocator;
static const struct power_source_options mapped = {.use_mmap = true};
static const struct power_source_options unmapped = {.use_mmap = false};

/* ---- a small writer of GGUF files ---- */

struct writer {
    unsigned char bytes[8192];
    size_t length;
    uint64_t n_tensors, n_keys;
};

static void put(struct writer *w, const void *bytes, size_t length) {
    assert_true(w->length + length <= sizeof w->bytes);
    memcpy(w->bytes + w->length, bytes, length);
    w->length += length;
}

static void put_number(struct writer *w, uint64_t value, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) {
        unsigned char byte = (unsigned char)(i < 8 ? value >> (8 * i) : 0);
        put(w, &byte, 1);
    }
}

static void put_text(struct writer *w, const char *text) {
    put_number(w, strlen(text), 8);
    put(w, text, strlen(text));
}

static void begin(struct writer *w) {
    *w = (struct writer){0};
    put(w, "GGUF\3\0\0\0", 8);
    put_number(w, 0, 16);
}

static void put_key(struct writer *w, const char *key, enum power_meta_type type) {
    w->n_keys++;
    put_text(w, key);
    put_number(w, type, 4);
}

static void put_key_number(struct writer *w, const char *key, enum power_meta_type type,
                           uint64_t value, size_t bytes) {
    put_key(w, key, type);
    put_number(w, value, bytes);
}

static void put_key_text(struct writer *w, const char *key, const char *value) {
    put_key(w, key, POWER_META_TEXT);
    put_text(w, value);
}

/* A row of `n` values of `type`. */
static void put_tensor(struct writer *w, const char *name, uint64_t n, uint32_t type,
                       uint64_t offset) {
    w->n_tensors++;
    put_text(w, name);
    put_number(w, 1, 4);
    put_number(w, n, 8);
    put_number(w, type, 4);
    put_number(w, offset, 8);
}

/* Fills in the counts, pads, adds `data_bytes` of data. */
static void finish(struct writer *w, size_t data_bytes) {
    struct writer counts = {0};
    put_number(&counts, w->n_tensors, 8);
    put_number(&counts, w->n_keys, 8);
    memcpy(w->bytes + 8, counts.bytes, 16);
    while (w->length % 32)
        put_number(w, 0, 1);
    while (data_bytes-- > 0)
        put_number(w, data_bytes & 0xff, 1);
}

static const char *in_folder(const char *name) {
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void save_bytes(const char *name, const void *bytes, size_t length) {
    FILE *file = fopen(in_folder(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static void save(const struct writer *w, const char *name) {
    save_bytes(name, w->bytes, w->length);
}

static struct power_source *open_written(const struct writer *w) {
    struct power_source *s = NULL;
    power_error error = {0};
    power_status status = power_source_open_memory(standard, w->bytes, w->length, &s, &error);
    if (status != POWER_OK) fail_msg("%s", error.message);
    return s;
}

static void refuse_written(const struct writer *w, power_status wanted, const char *words) {
    struct power_source *s = NULL;
    power_error error = {0};
    power_status status = power_source_open_memory(standard, w->bytes, w->length, &s, &error);
    if (status != wanted || !strstr(error.message, words)) {
        fail_msg("%s (%s), wanted \"%s\"", error.message, power_status_name(status), words);
    }
}

static void refuse_file(const char *name, power_status wanted, const char *words) {
    struct power_source *s = NULL;
    power_error error = {0};
    power_status status = power_source_open(standard, in_folder(name), &mapped, &s, &error);
    if (status != wanted || !strstr(error.message, words)) {
        fail_msg("%s (%s), wanted \"%s\"", error.message, power_status_name(status), words);
    }
    assert_null(strstr(error.message, folder));
}

/* ---- keys ---- */

static void write_all_types(struct writer *w) {
    begin(w);
    put_key_number(w, "u8", POWER_META_U8, 200, 1);
    put_key_number(w, "i8", POWER_META_I8, 0x85, 1);
    put_key_number(w, "u16", POWER_META_U16, 60000, 2);
    put_key_number(w, "i16", POWER_META_I16, 7, 2);
    put_key_number(w, "u32", POWER_META_U32, 4000000000u, 4);
    put_key_number(w, "i32", POWER_META_I32, 0xffffffff, 4);
    put_key_number(w, "f32", POWER_META_F32, 0x3fc00000, 4);
    put_key_number(w, "bool", POWER_META_BOOL, 1, 1);
    put_key_text(w, "text", "value");
    put_key_number(w, "u64", POWER_META_U64, (uint64_t)1 << 40, 8);
    put_key_number(w, "i64", POWER_META_I64, 123, 8);
    put_key_number(w, "f64", POWER_META_F64, 0x7fe0000000000000u, 8);
    put_key(w, "ints", POWER_META_ARRAY);
    put_number(w, POWER_META_I32, 4);
    put_number(w, 3, 8);
    for (int i = -1; i < 2; i++)
        put_number(w, (uint32_t)i, 4);
    put_key(w, "texts", POWER_META_ARRAY);
    put_number(w, POWER_META_TEXT, 4);
    put_number(w, 3, 8);
    put_text(w, "one");
    put_text(w, "");
    put_text(w, "three");
    put_key(w, "empty", POWER_META_ARRAY);
    put_number(w, POWER_META_F32, 4);
    put_number(w, 0, 8);
    finish(w, 0);
}

static void check_u32(const struct power_source *s, const char *key, power_status wanted,
                      uint32_t value, const char *words) {
    uint32_t out = 77;
    power_error error = {0};
    assert_int_equal(power_meta_u32(s, key, &out, &error), wanted);
    assert_int_equal(out, wanted == POWER_OK ? value : 77);
    if (words && !strstr(error.message, words)) fail_msg("%s", error.message);
    if (words && !strstr(error.message, key)) fail_msg("%s", error.message);
}

static void test_integers(void **state) {
    (void)state;
    static struct writer w;
    write_all_types(&w);
    struct power_source *s = open_written(&w);
    uint32_t out = 0;
    check_u32(s, "u8", POWER_OK, 200, NULL);
    check_u32(s, "u16", POWER_OK, 60000, NULL);
    check_u32(s, "i16", POWER_OK, 7, NULL);
    check_u32(s, "u32", POWER_OK, 4000000000u, NULL);
    check_u32(s, "i64", POWER_OK, 123, NULL);
    check_u32(s, "i8", POWER_CORRUPT, 0, "-123 (i8) is out of range of u32");
    check_u32(s, "i32", POWER_CORRUPT, 0, "-1 (i32)");
    check_u32(s, "u64", POWER_CORRUPT, 0, "1099511627776 (u64)");
    check_u32(s, "f32", POWER_CORRUPT, 0, "is of type f32, u32 is wanted");
    check_u32(s, "bool", POWER_CORRUPT, 0, "is of type bool");
    check_u32(s, "none", POWER_NOT_FOUND, 0, "is missing");
    assert_int_equal(power_meta_u32_or(s, "none", 5, &out, NULL), POWER_OK);
    assert_int_equal(out, 5);
    assert_int_equal(power_meta_u32_or(s, "u8", 5, &out, NULL), POWER_OK);
    assert_int_equal(out, 200);
    assert_int_equal(power_meta_u32_or(s, "text", 5, &out, NULL), POWER_CORRUPT);
    power_source_close(s);
}

static void test_other_types(void **state) {
    (void)state;
    static struct writer w;
    write_all_types(&w);
    struct power_source *s = open_written(&w);
    power_error error = {0};
    float f = 0;
    bool b = false;
    struct power_text text;
    assert_int_equal(power_meta_f32(s, "f32", &f, NULL), POWER_OK);
    assert_true(f == 1.5f);
    assert_int_equal(power_meta_f32(s, "i8", &f, NULL), POWER_OK);
    assert_true(f == -123.0f);
    assert_int_equal(power_meta_f32_or(s, "none", 2.5f, &f, NULL), POWER_OK);
    assert_true(f == 2.5f);
    assert_int_equal(power_meta_f32(s, "f64", &f, &error), POWER_CORRUPT);
    assert_int_equal(power_meta_f32(s, "text", &f, &error), POWER_CORRUPT);
    assert_int_equal(power_meta_f32(s, "none", &f, &error), POWER_NOT_FOUND);
    assert_int_equal(power_meta_bool_or(s, "bool", false, &b, NULL), POWER_OK);
    assert_true(b);
    assert_int_equal(power_meta_bool_or(s, "none", false, &b, NULL), POWER_OK);
    assert_false(b);
    assert_int_equal(power_meta_bool_or(s, "u8", false, &b, &error), POWER_CORRUPT);
    assert_int_equal(power_meta_text(s, "text", &text, NULL), POWER_OK);
    assert_true(power_text_equal(text, POWER_TEXT("value")));
    assert_int_equal(power_meta_text_or(s, "none", POWER_TEXT("x"), &text, NULL), POWER_OK);
    assert_true(power_text_equal(text, POWER_TEXT("x")));
    assert_int_equal(power_meta_text(s, "u8", &text, &error), POWER_CORRUPT);
    assert_int_equal(power_meta_text(s, "none", &text, &error), POWER_NOT_FOUND);
    assert_string_equal(error.message, "key \"none\" is missing");
    power_source_close(s);
}

static void test_arrays(void **state) {
    (void)state;
    static struct writer w;
    write_all_types(&w);
    struct power_source *s = open_written(&w);
    power_error error = {0};
    struct power_meta_array array = {0};
    assert_int_equal(power_meta_array(s, "ints", POWER_META_I32, &array, NULL), POWER_OK);
    assert_int_equal(array.count, 3);
    const int32_t *ints = array.values;
    assert_true(ints[0] == -1 && ints[1] == 0 && ints[2] == 1);
    assert_int_equal(power_meta_array(s, "texts", POWER_META_TEXT, &array, NULL), POWER_OK);
    const struct power_text *texts = array.values;
    assert_true(power_text_equal(texts[0], POWER_TEXT("one")));
    assert_true(power_text_equal(texts[1], POWER_TEXT("")));
    assert_true(power_text_equal(texts[2], POWER_TEXT("three")));
    assert_int_equal(power_meta_array(s, "empty", POWER_META_F32, &array, NULL), POWER_OK);
    assert_int_equal(array.count, 0);
    assert_int_equal(power_meta_array(s, "ints", POWER_META_U32, &array, &error), POWER_CORRUPT);
    assert_string_equal(error.message, "key \"ints\" is an array of i32, u32 is wanted");
    assert_int_equal(power_meta_array(s, "u8", POWER_META_U8, &array, &error), POWER_CORRUPT);
    power_source_close(s);
}

/* ---- refusals ---- */

static void test_refusals(void **state) {
    (void)state;
    static struct writer w;
    begin(&w);
    w.bytes[4] = 1;
    refuse_written(&w, POWER_UNSUPPORTED, "GGUF version 1");
    w.bytes[4] = 4;
    refuse_written(&w, POWER_UNSUPPORTED, "GGUF version 4");
    memcpy(w.bytes + 4, "\0\0\0\3", 4);
    refuse_written(&w, POWER_UNSUPPORTED, "big-endian");
    memcpy(w.bytes, "FUGG\3\0\0", 8);
    refuse_written(&w, POWER_UNSUPPORTED, "big-endian");
    static const char *const kinds[][3] = {
        {"general.type", "adapter", "adapter"},
        {"general.type", "mmproj", "projector"},
        {"general.architecture", "clip", "projector"},
        {"adapter.type", "lora", "adapter"},
    };
    for (size_t i = 0; i < 4; i++) {
        begin(&w);
        put_key_text(&w, kinds[i][0], kinds[i][1]);
        finish(&w, 0);
        refuse_written(&w, POWER_UNSUPPORTED, kinds[i][2]);
    }
    begin(&w);
    put_tensor(&w, "the.tensor", 32, 4, 0);
    finish(&w, 32);
    refuse_written(&w, POWER_UNSUPPORTED, "tensor \"the.tensor\": type 4 (Q4_2) was removed");
    begin(&w);
    put_tensor(&w, "the.tensor", 33, POWER_DTYPE_Q8_0, 0);
    finish(&w, 64);
    refuse_written(&w, POWER_CORRUPT, "tensor \"the.tensor\": rows do not fill");
    begin(&w);
    put_tensor(&w, "the.tensor", 8, POWER_DTYPE_F32, 16);
    finish(&w, 64);
    refuse_written(&w, POWER_CORRUPT, "tensor \"the.tensor\": offset 16 is no multiple of 32");
}

static void test_bad_keys(void **state) {
    (void)state;
    static struct writer w;
    static const uint64_t alignments[] = {0, 1, 12, 48, (uint64_t)1 << 31};
    for (size_t i = 0; i < sizeof alignments / sizeof *alignments; i++) {
        begin(&w);
        put_key_number(&w, "general.alignment", POWER_META_U32, alignments[i], 4);
        finish(&w, 0);
        refuse_written(&w, POWER_CORRUPT, "general.alignment");
    }
    begin(&w);
    put_key_number(&w, "flag", POWER_META_BOOL, 2, 1);
    finish(&w, 0);
    refuse_written(&w, POWER_CORRUPT, "key \"flag\": the bool");
    begin(&w);
    put_key(&w, "nested", POWER_META_ARRAY);
    put_number(&w, POWER_META_ARRAY, 4);
    put_number(&w, 0, 8);
    finish(&w, 0);
    refuse_written(&w, POWER_UNSUPPORTED, "key \"nested\": an array of arrays");
    /* Counts that no file of this size can hold cost nothing. */
    begin(&w);
    put_key(&w, "vocab", POWER_META_ARRAY);
    put_number(&w, POWER_META_TEXT, 4);
    put_number(&w, UINT64_MAX / 8, 8);
    finish(&w, 0);
    refuse_written(&w, POWER_CORRUPT, "key \"vocab\"");
    begin(&w);
    w.n_tensors = UINT64_MAX;
    finish(&w, 0);
    refuse_written(&w, POWER_CORRUPT, "tensors go past the end");
}

static void test_other_files(void **state) {
    (void)state;
    save_bytes("pickle.bin", "PK\3\4 and so on", 14);
    refuse_file("pickle.bin", POWER_UNSUPPORTED, "zip archive");
    save_bytes("noise.bin", "this is no model", 16);
    refuse_file("noise.bin", POWER_UNSUPPORTED, "neither a GGUF nor a SafeTensors");
    save_bytes("old.bin", "tjgg\1\0\0\0 and so on", 18);
    refuse_file("old.bin", POWER_UNSUPPORTED, "GGJT");
    save_bytes("cut.safetensors", "\xff\0\0\0\0\0\0\0{", 9);
    refuse_file("cut.safetensors", POWER_CORRUPT, "truncated");
    refuse_file("absent.gguf", POWER_NOT_FOUND, "absent.gguf");
    struct power_source_options small = {.max_file_bytes = 100};
    struct power_source *s = NULL;
    power_error error = {0};
    assert_int_equal(power_source_open(standard, case_path("micro.gguf"), &small, &s, &error),
                     POWER_LIMIT);
    assert_string_equal(error.message, "\"micro.gguf\" has 14304 bytes, the limit is 100");
}

/* ---- split sets ---- */

static void write_part(uint32_t number, uint32_t count, int32_t total, const char *tensor,
                       const char *name) {
    static struct writer w;
    begin(&w);
    if (number == 0) put_key_text(&w, "general.name", "in parts");
    put_key_number(&w, "split.no", POWER_META_U16, number, 2);
    put_key_number(&w, "split.count", POWER_META_U16, count, 2);
    put_key_number(&w, "split.tensors.count", POWER_META_I32, (uint32_t)total, 4);
    put_tensor(&w, tensor, 8, POWER_DTYPE_F32, 0);
    finish(&w, 32 + number);
    save(&w, name);
}

static void write_set(void) {
    write_part(0, 3, 3, "a", "m-00001-of-00003.gguf");
    write_part(1, 3, 3, "b", "m-00002-of-00003.gguf");
    write_part(2, 3, 3, "c", "m-00003-of-00003.gguf");
}

static void test_split(void **state) {
    (void)state;
    write_set();
    for (int i = 0; i < 2; i++) {
        struct power_source *s = NULL;
        power_error error = {0};
        power_status status = power_source_open(standard, in_folder("m-00001-of-00003.gguf"),
                                                i ? &mapped : &unmapped, &s, &error);
        if (status != POWER_OK) fail_msg("%s", error.message);
        assert_int_equal(s->n_files, 3);
        assert_int_equal(s->n_tensors, 3);
        assert_non_null(power_source_meta(s, "general.name"));
        const struct power_tensor *c = power_source_tensor(s, "c");
        assert_non_null(c);
        assert_int_equal(c->file, 2);
        struct power_span span;
        bool borrowed;
        assert_int_equal(power_source_tensor_bytes(s, c, &span, &borrowed, NULL), POWER_OK);
        assert_int_equal(borrowed, i);
        assert_int_equal(span.length, 32);
        assert_int_equal(span.bytes[0], 33);
        if (!borrowed) power_pages_free((void *)(uintptr_t)span.bytes, span.length);
        assert_int_equal(power_source_check(s, NULL), POWER_OK);
        power_source_close(s);
    }
}

static void test_split_refusals(void **state) {
    (void)state;
    write_set();
    refuse_file("m-00002-of-00003.gguf", POWER_INVALID, "part 2 of 3, open the first");
    write_part(0, 3, 4, "a", "m-00001-of-00003.gguf");
    refuse_file("m-00001-of-00003.gguf", POWER_CORRUPT, "\"split.tensors.count\" is 4");
    write_set();
    write_part(1, 3, 3, "c", "m-00002-of-00003.gguf");
    refuse_file("m-00001-of-00003.gguf", POWER_CORRUPT, "tensor \"c\" is given twice");
    write_part(2, 3, 3, "b", "m-00002-of-00003.gguf");
    refuse_file("m-00001-of-00003.gguf", POWER_CORRUPT, "split.no");
    write_part(1, 2, 3, "b", "m-00002-of-00003.gguf");
    refuse_file("m-00001-of-00003.gguf", POWER_CORRUPT, "split.count");
    assert_int_equal(unlink(in_folder("m-00002-of-00003.gguf")), 0);
    refuse_file("m-00001-of-00003.gguf", POWER_NOT_FOUND, "m-00002-of-00003.gguf");
    write_part(0, 3, 3, "a", "renamed.gguf");
    refuse_file("renamed.gguf", POWER_INVALID, "-00001-of-00003.gguf");
    write_part(0, 60000, 3, "a", "many.gguf");
    refuse_file("many.gguf", POWER_LIMIT, "60000 parts");
}

/* ---- digest ---- */

static void check_digest(const struct power_source *s, const char *wanted) {
    struct power_digest digest;
    char hex[65];
    assert_int_equal(power_source_digest(s, &digest, NULL, NULL), POWER_OK);
    power_digest_hex(&digest, hex);
    assert_string_equal(hex, wanted);
}

static void test_digest(void **state) {
    (void)state;
    struct power_source *s = NULL;
    assert_int_equal(power_source_open(standard, case_path("one-tensor.gguf"), &mapped, &s, NULL),
                     POWER_OK);
    check_digest(s, "503353d6928a65ca84b42e0f12ec6a5db4bc85cd95570ad5672b41951b22d560");
    _Atomic(int) cancel = 1;
    struct power_digest digest;
    assert_int_equal(power_source_digest(s, &digest, &cancel, NULL), POWER_CANCELLED);
    power_source_close(s);
    /* A set: the digest of what sha256sum would print. */
    write_set();
    struct power_buffer list;
    power_buffer_init(&list, standard, 1000);
    for (int i = 1; i <= 3; i++) {
        char name[32], line[128], hex[65];
        snprintf(name, sizeof name, "m-0000%d-of-00003.gguf", i);
        size_t length;
        unsigned char *bytes = case_read(in_folder(name), &length);
        assert_int_equal(power_sha256_once(bytes, length, &digest), POWER_OK);
        free(bytes);
        power_digest_hex(&digest, hex);
        int n = snprintf(line, sizeof line, "%s  %s\n", hex, name);
        assert_true(power_buffer_append(&list, line, (size_t)n));
    }
    char hex[65];
    assert_int_equal(power_sha256_once(list.bytes, list.length, &digest), POWER_OK);
    power_digest_hex(&digest, hex);
    power_buffer_finish(&list);
    assert_int_equal(
        power_source_open(standard, in_folder("m-00001-of-00003.gguf"), &mapped, &s, NULL),
        POWER_OK);
    check_digest(s, hex);
    power_source_close(s);
}

/* ---- changed files ---- */

static struct power_source *open_copy(const struct power_source_options *options) {
    size_t length;
    struct power_source *s = NULL;
    unsigned char *bytes = case_read(case_path("micro.gguf"), &length);
    save_bytes("copy.gguf", bytes, length);
    free(bytes);
    assert_int_equal(power_source_open(standard, in_folder("copy.gguf"), options, &s, NULL),
                     POWER_OK);
    assert_int_equal(power_source_check(s, NULL), POWER_OK);
    return s;
}

/* Truncated while open, no guard: every way to the bytes says so before it touches them. */
static void check_changed(struct power_source *s) {
    power_error error = {0};
    struct power_span span;
    bool borrowed;
    struct power_digest digest;
    assert_int_equal(power_source_check(s, &error), POWER_CHANGED);
    assert_string_equal(error.message, "\"copy.gguf\" changed since it was opened");
    assert_int_equal(power_source_tensor_bytes(s, &s->tensors[0], &span, &borrowed, &error),
                     POWER_CHANGED);
    assert_int_equal(power_source_digest(s, &digest, NULL, &error), POWER_CHANGED);
    power_source_close(s);
}

static void test_truncated_while_open(void **state) {
    (void)state;
    struct power_source *s = open_copy(&mapped);
    assert_int_equal(truncate(in_folder("copy.gguf"), 100), 0);
    check_changed(s);
    s = open_copy(&unmapped);
    assert_int_equal(truncate(in_folder("copy.gguf"), 100), 0);
    check_changed(s);
}

/* Same size, other bytes, and the old time of change put back. */
static void test_rewritten_while_open(void **state) {
    (void)state;
    struct power_source *s = open_copy(&mapped);
    struct stat st;
    assert_int_equal(stat(in_folder("copy.gguf"), &st), 0);
    usleep(20000); /* past the granularity of file times */
    FILE *file = fopen(in_folder("copy.gguf"), "r+b");
    assert_non_null(file);
    assert_int_equal(fputc('g', file), 'g');
    assert_int_equal(fclose(file), 0);
    struct timespec times[2] = {st.st_atim, st.st_mtim};
    assert_int_equal(utimensat(-1, in_folder("copy.gguf"), times, 0), 0);
    check_changed(s);
}

/* With the guard, bytes that vanish under a reader are zeros and the source says what happened. */
static int read_guarded(void) {
    if (power_bus_guard_install(NULL) != POWER_OK) return 1;
    struct power_source *s = open_copy(&mapped);
    struct power_span span;
    bool borrowed;
    const struct power_tensor *last = &s->tensors[s->n_tensors - 1];
    power_error error = {0};
    if (power_source_tensor_bytes(s, last, &span, &borrowed, NULL) != POWER_OK) return 2;
    if (truncate(in_folder("copy.gguf"), 100) != 0) return 3;
    const volatile unsigned char *bytes = span.bytes;
    if (bytes[0] != 0 || bytes[span.length - 1] != 0) return 4;
    if (power_source_check(s, &error) != POWER_CHANGED) return 5;
    if (!strstr(error.message, "bytes of \"copy.gguf\" were lost")) return 6;
    power_source_close(s);
    return 0;
}

static void test_guarded(void **state) {
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) _exit(read_guarded());
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- changes by the opener ---- */

static void test_add_and_rename(void **state) {
    (void)state;
    struct power_source *s = NULL;
    power_error error = {0};
    assert_int_equal(power_source_open(standard, case_path("micro.gguf"), &mapped, &s, NULL),
                     POWER_OK);
    uint32_t before = s->n_metas, value = 0;
    for (unsigned i = 0; i < 300; i++) {
        char key[32];
        int n = snprintf(key, sizeof key, "added.%u", i);
        struct power_meta meta = {{key, (size_t)n}, POWER_META_U32, {.u = i}};
        assert_int_equal(power_source_add_meta(s, &meta, NULL), POWER_OK);
        assert_int_equal(power_source_add_meta(s, &meta, &error), POWER_CORRUPT);
    }
    assert_int_equal(s->n_metas, before + 300);
    assert_int_equal(power_meta_u32(s, "added.299", &value, NULL), POWER_OK);
    assert_int_equal(value, 299);
    assert_int_equal(power_meta_u32(s, "llama.block_count", &value, NULL), POWER_OK);
    struct power_tensor *first = &s->tensors[0], *second = &s->tensors[1];
    for (unsigned i = 0; i < 100; i++) {
        char name[32];
        snprintf(name, sizeof name, "name.%u", i);
        assert_int_equal(power_source_rename_tensor(s, first, name, NULL), POWER_OK);
    }
    assert_ptr_equal(power_source_tensor(s, "name.99"), first);
    assert_null(power_source_tensor(s, "name.98"));
    assert_null(power_source_tensor(s, "token_embd.weight"));
    assert_int_equal(power_source_rename_tensor(s, second, "token_embd.weight", NULL), POWER_OK);
    assert_ptr_equal(power_source_tensor(s, "token_embd.weight"), second);
    assert_int_equal(power_source_rename_tensor(s, second, "name.99", &error), POWER_CORRUPT);
    assert_string_equal(error.message, "two tensors are called \"name.99\"");
    assert_ptr_equal(power_source_tensor(s, "token_embd.weight"), second);
    assert_ptr_equal(power_source_tensor(s, "name.99"), first);
    power_source_close(s);
}

/* ---- failing memory ---- */

struct limited {
    size_t left, live;
};

static void *limited_alloc(void *context, size_t bytes, size_t alignment) {
    struct limited *limited = context;
    if (limited->left == 0) return NULL;
    limited->left--;
    limited->live++;
    return standard->alloc(NULL, bytes, alignment);
}

static void limited_release(void *context, void *memory, size_t bytes, size_t alignment) {
    struct limited *limited = context;
    limited->live--;
    standard->release(NULL, memory, bytes, alignment);
}

static void fail_each_allocation(const char *path) {
    for (size_t n = 0;; n++) {
        struct limited limited = {.left = n};
        power_allocator allocator = {&limited, limited_alloc, limited_release};
        struct power_source *s = NULL;
        power_error error = {0};
        power_status status = power_source_open(&allocator, path, &mapped, &s, &error);
        if (status == POWER_OK) power_source_close(s);
        assert_int_equal(limited.live, 0);
        if (status == POWER_OK) {
            assert_true(n > 4);
            return;
        }
        assert_int_equal(status, POWER_NO_MEMORY);
        assert_int_equal(error.status, POWER_NO_MEMORY);
    }
}

static void test_failing_memory(void **state) {
    (void)state;
    write_set();
    fail_each_allocation(case_path("micro.gguf"));
    fail_each_allocation(in_folder("m-00001-of-00003.gguf"));
    fail_each_allocation(POWER_TEST_DATA "/tiny-models/llama/model.safetensors");
}

static int setup(void **state) {
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_other_types),
        cmocka_unit_test(test_arrays),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_bad_keys),
        cmocka_unit_test(test_other_files),
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_split_refusals),
        cmocka_unit_test(test_digest),
        cmocka_unit_test(test_truncated_while_open),
        cmocka_unit_test(test_rewritten_while_open),
        cmocka_unit_test(test_guarded),
        cmocka_unit_test(test_add_and_rename),
        cmocka_unit_test(test_failing_memory),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
