/* SPDX-License-Identifier: MIT */
/* The SafeTensors reader: headers, shards, folders, and what is derived from a real header.
 * Input: tests/data/tiny-models and files written here. Output: pass or fail.
 * Threads: one. Bounds: 20,000 random changes, 2,000 under a sanitizer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../fuzz/common.h"
#include "../common/cases.h"
#include "format/json_scan.h"

#define LLAMA POWER_TEST_DATA "/tiny-models/llama"
#define MISTRAL POWER_TEST_DATA "/tiny-models/mistral"

static char folder[] = "/tmp/power-test-safetensors-XXXXXX";
static const power_allocator *const standard = &power_default_allocator;
static const struct power_source_options mapped = {.use_mmap = true};

static const char *in_folder(const char *name) {
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void save(const char *name, const void *bytes, size_t length) {
    FILE *file = fopen(in_folder(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static void save_text(const char *name, const char *text) {
    save(name, text, strlen(text));
}

/* Length, header, `data_bytes` of data 0, 1, 2 ... */
static unsigned char *build(const char *header, size_t data_bytes, size_t *out_length) {
    size_t n = strlen(header);
    *out_length = 8 + n + data_bytes;
    unsigned char *file = calloc(*out_length, 1);
    assert_non_null(file);
    for (unsigned i = 0; i < 8; i++)
        file[i] = (unsigned char)((uint64_t)n >> (8 * i));
    memcpy(file + 8, header, n);
    for (size_t i = 0; i < data_bytes; i++)
        file[8 + n + i] = (unsigned char)i;
    return file;
}

static void save_model(const char *name, const char *header, size_t data_bytes) {
    size_t length;
    unsigned char *file = build(header, data_bytes, &length);
    save(name, file, length);
    free(file);
}

static void refuse(const char *header, size_t data_bytes, power_status wanted, const char *words) {
    size_t length;
    unsigned char *file = build(header, data_bytes, &length);
    struct power_source *s = NULL;
    power_error error = {0};
    power_status status = power_source_open_memory(standard, file, length, &s, &error);
    if (status != wanted || !strstr(error.message, words)) {
        fail_msg("%s (%s), wanted \"%s\"", error.message, power_status_name(status), words);
    }
    free(file);
}

static void refuse_path(const char *path, power_status wanted, const char *words) {
    struct power_source *s = NULL;
    power_error error = {0};
    power_status status = power_source_open(standard, path, &mapped, &s, &error);
    if (status != wanted || !strstr(error.message, words)) {
        fail_msg("%s (%s), wanted \"%s\"", error.message, power_status_name(status), words);
    }
}

/* ---- headers ---- */

static void test_header(void **state) {
    (void)state;
    size_t length;
    unsigned char *file = build("{\"__metadata__\":{\"format\":\"pt\"},\n"
                                "\"a.\\u00e9\":{\"shape\":[2,3],\"dtype\":\"F16\",\"data_offsets\":"
                                "[4,16]},\"scalar\":{\"dtype\":\"I32\",\"shape\":[],"
                                "\"data_offsets\":[0,4]}}   ",
                                16, &length);
    struct power_source *s = NULL;
    assert_int_equal(power_source_open_memory(standard, file, length, &s, NULL), POWER_OK);
    assert_int_equal(s->container, POWER_CONTAINER_SAFETENSORS);
    assert_int_equal(s->n_tensors, 2);
    const struct power_tensor *a = power_source_tensor(s, "a.\xc3\xa9");
    assert_non_null(a);
    assert_int_equal(a->dtype, POWER_DTYPE_F16);
    assert_int_equal(a->rank, 2);
    assert_int_equal(a->dims[0], 3);
    assert_int_equal(a->dims[1], 2);
    assert_int_equal(a->dims[2], 1);
    struct power_span span;
    bool borrowed;
    assert_int_equal(power_source_tensor_bytes(s, a, &span, &borrowed, NULL), POWER_OK);
    assert_int_equal(span.length, 12);
    assert_int_equal(span.bytes[0], 4);
    const struct power_tensor *scalar = power_source_tensor(s, "scalar");
    assert_int_equal(scalar->rank, 1);
    assert_int_equal(scalar->dims[0], 1);
    assert_null(power_source_meta(s, "format"));
    fuzz_walk(s);
    power_source_close(s);
    free(file);
}

#define ENTRY(name, dtype, shape, begin, end)                                                      \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[" begin "," end   \
    "]}"

static void test_header_refusals(void **state) {
    (void)state;
    refuse("{" ENTRY("w", "F8_E4M3", "[4]", "0", "4") "}", 4, POWER_UNSUPPORTED,
           "tensor \"w\": dtype \"F8_E4M3\" is not supported");
    refuse("{" ENTRY("w", "F32", "[1,1,1,1,1]", "0", "4") "}", 4, POWER_UNSUPPORTED,
           "tensor \"w\": more than 4 dimensions");
    refuse("{" ENTRY("w", "F32", "[2]", "0", "4") "}", 4, POWER_CORRUPT, "tensor \"w\"");
    refuse("{" ENTRY("w", "F32", "[0]", "0", "0") "}", 4, POWER_CORRUPT, "tensor \"w\"");
    refuse("{" ENTRY("w", "F32", "[2]", "0", "8") "}", 4, POWER_CORRUPT,
           "tensor \"w\": its bytes 0 to 8 go past the end");
    refuse("{" ENTRY("w", "F32", "[1]", "4", "0") "}", 4, POWER_CORRUPT, "run backwards");
    refuse("{" ENTRY("w", "F32", "[4294967296,4294967296]", "0", "0") "}", 4, POWER_CORRUPT,
           "tensor \"w\"");
    refuse("{" ENTRY("w", "I8", "[18446744073709551616]", "0", "4") "}", 4, POWER_CORRUPT,
           "a number is too large");
    refuse("{" ENTRY("w", "I8", "[-4]", "0", "4") "}", 4, POWER_CORRUPT, "a whole number");
    refuse("{" ENTRY("w", "I8", "[4.0]", "0", "4") "}", 4, POWER_CORRUPT, "a whole number");
    refuse("{" ENTRY("w", "I8", "[04]", "0", "4") "}", 4, POWER_CORRUPT, "starts with a zero");
    refuse("{" ENTRY("w", "I8", "[4]", "0", "4") "," ENTRY("w", "I8", "[4]", "4", "8") "}", 8,
           POWER_CORRUPT, "tensor \"w\": given twice");
    refuse("{" ENTRY("v", "I8", "[4]", "0", "4") "," ENTRY("w", "I8", "[4]", "3", "7") "}", 7,
           POWER_CORRUPT, "tensor \"w\" lies over tensor \"v\"");
    refuse("{" ENTRY("v", "I8", "[4]", "0", "4") "," ENTRY("w", "I8", "[4]", "5", "9") "}", 9,
           POWER_CORRUPT, "cover 8 of the file's 9");
    refuse("{" ENTRY("v", "I8", "[4]", "0", "4") "}", 5, POWER_CORRUPT, "cover 4 of the file's 5");
    refuse("{\"w\":{\"dtype\":\"I8\",\"shape\":[4]}}", 4, POWER_CORRUPT, "tensor \"w\"");
    refuse("{\"w\":{\"dtype\":\"I8\",\"dtype\":\"I8\"}}", 4, POWER_CORRUPT, "field is given twice");
    refuse("{\"w\":{\"kind\":\"I8\"}}", 4, POWER_CORRUPT, "an unknown field");
    refuse("{\"w\":[]}", 4, POWER_CORRUPT, "an object is wanted");
    refuse("{\"\":{}}", 4, POWER_CORRUPT, "the name is empty");
    refuse("{\"__metadata__\":{\"a\":1}}", 0, POWER_CORRUPT, "a string is wanted");
    refuse("{" ENTRY("w", "I8", "[4]", "0", "4") "} x", 4, POWER_CORRUPT, "text after the end");
    refuse("{" ENTRY("w", "I8", "[4]", "0", "4"), 4, POWER_CORRUPT, "a comma or a closing bracket");
    refuse("{" ENTRY("w", "I8", "[4]", "0", "4") ",}", 4, POWER_CORRUPT, "a string is wanted");
}

/* ---- the JSON scanner ---- */

static bool skips(const char *text) {
    size_t length = strlen(text);
    char *copy = malloc(length + 1);
    assert_non_null(copy);
    memcpy(copy, text, length);
    struct power_json_scan scan;
    power_json_scan_init(&scan, copy, length);
    bool whole = power_json_scan_skip(&scan) && power_json_scan_end(&scan);
    assert_true(whole == !scan.fault);
    free(copy);
    return whole;
}

static void test_skip(void **state) {
    (void)state;
    static const char *const good[] = {
        "0",
        "-1.5e+10",
        "true",
        " null ",
        "[]",
        "{}",
        "[ [ ] , { } ]",
        "{\"a\":[1,{\"b\":2}],\"c\":\"\"}",
        "[1,2,3]",
        "\"\\u00e9\\ud83d\\ude00\\n\\/\"",
    };
    static const char *const bad[] = {
        "",     "01",   "-",       "1.",          "1e",         "tru",
        "[1,]", "[,1]", "{\"a\"}", "{,}",         "[1 2]",      "{1:2}",
        "[}",   "\"a",  "\"\\x\"", "\"\\ud800\"", "\"\\u12",    "[1]]",
        "nul",  "+1",   "\"\n\"",  "[\"a\":1]",   "{\"a\":1,}", "\"\\udc00\\ud800\"",
        "\"\\",
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        if (!skips(good[i])) fail_msg("refused: %s", good[i]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (skips(bad[i])) fail_msg("accepted: %s", bad[i]);
    }
    char deep[131];
    for (int levels = 64; levels <= 65; levels++) {
        memset(deep, '[', (size_t)levels);
        memset(deep + levels, ']', (size_t)levels);
        deep[2 * levels] = '\0';
        assert_int_equal(skips(deep), levels == 64);
    }
}

static void test_text(void **state) {
    (void)state;
    char text[] = "\"a\\u00e9\\ud83d\\ude00\\u0000\\t\\\"b\" 5";
    struct power_json_scan scan;
    struct power_text out;
    uint64_t number;
    power_json_scan_init(&scan, text, sizeof text - 1);
    assert_true(power_json_scan_text(&scan, &out));
    static const char wanted[] = "a\xc3\xa9\xf0\x9f\x98\x80\0\t\"b";
    assert_int_equal(out.length, sizeof wanted - 1);
    assert_memory_equal(out.bytes, wanted, sizeof wanted);
    assert_true(power_json_scan_u64(&scan, &number));
    assert_int_equal(number, 5);
    assert_true(power_json_scan_end(&scan));
}

/* ---- real models ---- */

static void check_llama(const char *path) {
    struct power_source *s = NULL;
    power_error error = {0};
    power_status status = power_source_open(standard, path, &mapped, &s, &error);
    if (status != POWER_OK) fail_msg("%s", error.message);
    assert_int_equal(s->n_tensors, 30);
    const struct power_tensor *down = power_source_tensor(s, "model.layers.0.mlp.down_proj.weight");
    assert_non_null(down);
    assert_int_equal(down->dims[0], 96);
    assert_int_equal(down->dims[1], 64);
    assert_int_equal(down->offset, 8 + 3064 + 164096);
    assert_int_equal(s->config_json.bytes[0], '{');
    assert_int_equal(s->config_json.bytes[s->config_json.length], 0);
    assert_non_null(strstr(s->tokenizer_json.bytes, "\"model\""));
    assert_int_equal(s->tokenizer_model.length, 0);
    assert_int_equal(power_source_check(s, NULL), POWER_OK);
    fuzz_walk(s);
    power_source_close(s);
}

static void test_models(void **state) {
    (void)state;
    check_llama(LLAMA);
    check_llama(LLAMA "/");
    check_llama(LLAMA "/model.safetensors");
    struct power_source *s = NULL;
    assert_int_equal(power_source_open(standard, MISTRAL, &mapped, &s, NULL), POWER_OK);
    assert_int_equal(s->tokenizer_model.length, 5102);
    assert_int_equal(s->tokenizer_json.length, 0);
    assert_int_equal(s->tensors[0].dtype, POWER_DTYPE_F16);
    power_source_close(s);
}

/* The digest covers the files beside the weights: other tokenizer, other model. */
static void test_digest(void **state) {
    (void)state;
    struct power_digest digests[3];
    save_model("model.safetensors", "{" ENTRY("w", "I8", "[4]", "0", "4") "}", 4);
    static const char *const configs[] = {NULL, "{}", "{ }"};
    for (size_t i = 0; i < 3; i++) {
        struct power_source *s = NULL;
        if (configs[i]) save_text("config.json", configs[i]);
        assert_int_equal(power_source_open(standard, folder, &mapped, &s, NULL), POWER_OK);
        assert_int_equal(power_source_digest(s, &digests[i], NULL, NULL), POWER_OK);
        power_source_close(s);
    }
    assert_memory_not_equal(&digests[0], &digests[1], sizeof digests[0]);
    assert_memory_not_equal(&digests[1], &digests[2], sizeof digests[0]);
    unlink(in_folder("config.json"));
    unlink(in_folder("model.safetensors"));
}

/* ---- folders and shards ---- */

static void write_shards(void) {
    save_model("model-00001-of-00002.safetensors", "{" ENTRY("b", "I8", "[4]", "0", "4") "}", 4);
    save_model("model-00002-of-00002.safetensors", "{" ENTRY("a", "I8", "[6]", "0", "6") "}", 6);
    save_text("model.safetensors.index.json",
              "{\"metadata\":{\"total_size\":10,\"x\":[1,{\"y\":null}]},\"weight_map\":{"
              "\"a\":\"model-00002-of-00002.safetensors\","
              "\"b\":\"model-00001-of-00002.safetensors\"}}");
}

static void test_shards(void **state) {
    (void)state;
    write_shards();
    struct power_source *s = NULL;
    power_error error = {0};
    power_status status = power_source_open(standard, folder, &mapped, &s, &error);
    if (status != POWER_OK) fail_msg("%s", error.message);
    assert_int_equal(s->n_files, 2);
    assert_non_null(strstr(s->files[0].path, "00001")); /* by name, not by appearance */
    assert_int_equal(power_source_tensor(s, "a")->file, 1);
    assert_int_equal(power_source_tensor(s, "b")->file, 0);
    fuzz_walk(s);
    power_source_close(s);
}

static void refuse_index(const char *index, power_status wanted, const char *words) {
    save_text("model.safetensors.index.json", index);
    refuse_path(folder, wanted, words);
}

static void test_shard_refusals(void **state) {
    (void)state;
    write_shards();
    refuse_path(in_folder("model-00001-of-00002.safetensors"), POWER_INVALID, "one shard");
    refuse_index("{\"weight_map\":{\"a\":\"model-00001-of-00002.safetensors\"}}", POWER_CORRUPT,
                 "tensor \"a\" is not in \"model-00001-of-00002.safetensors\"");
    refuse_index("{\"weight_map\":{\"a\":\"../x.safetensors\"}}", POWER_CORRUPT,
                 "no plain file name");
    refuse_index("{\"weight_map\":{\"a\":\"/etc/passwd\"}}", POWER_CORRUPT, "no plain file name");
    refuse_index("{\"weight_map\":{\"a\":\"x\\u0000y\"}}", POWER_CORRUPT, "no plain file name");
    refuse_index("{\"weight_map\":{\"a\":\"absent.safetensors\"}}", POWER_NOT_FOUND,
                 "absent.safetensors");
    refuse_index("{\"weight_map\":{}}", POWER_CORRUPT, "names no shard");
    refuse_index("{}", POWER_CORRUPT, "names no shard");
    refuse_index("{\"weight_map\":{\"a\":1}}", POWER_CORRUPT, "a string is wanted");
    refuse_index("{\"weight_map\":{},\"weight_map\":{}}", POWER_CORRUPT, "given twice");
    refuse_index("", POWER_CORRUPT, "an object is wanted");
    save_model("model-00001-of-00002.safetensors", "{" ENTRY("a", "I8", "[4]", "0", "4") "}", 4);
    refuse_index("{\"weight_map\":{\"a\":\"model-00001-of-00002.safetensors\","
                 "\"b\":\"model-00002-of-00002.safetensors\"}}",
                 POWER_CORRUPT, "tensor \"a\" is given twice");
    unlink(in_folder("model.safetensors.index.json"));
    refuse_path(folder, POWER_NOT_FOUND, "holds neither");
    save_text("adapter_config.json", "{}");
    refuse_path(folder, POWER_UNSUPPORTED, "adapter");
    save_model("adapter_model.safetensors", "{" ENTRY("a", "I8", "[4]", "0", "4") "}", 4);
    refuse_path(in_folder("adapter_model.safetensors"), POWER_UNSUPPORTED, "adapter");
}

/* ---- derived from a real header ---- */

static unsigned char *read_llama(size_t *out_length, size_t *out_header) {
    unsigned char *bytes = case_read(LLAMA "/model.safetensors", out_length);
    *out_header = 8 + (size_t)power_load_u64(bytes);
    assert_true(*out_header < *out_length);
    return bytes;
}

static void test_prefixes(void **state) {
    (void)state;
    size_t length, header;
    unsigned char *bytes = read_llama(&length, &header);
    for (size_t n = 0; n < length; n += n < header + 64 ? 1 : 4999) {
        unsigned char *copy = malloc(n ? n : 1);
        assert_non_null(copy);
        memcpy(copy, bytes, n);
        struct power_source *s = NULL;
        power_error error = {0};
        if (power_source_open_memory(standard, copy, n, &s, &error) == POWER_OK) {
            fail_msg("a prefix of %zu bytes was read", n);
        }
        assert_true(error.message[0] != '\0');
        free(copy);
    }
    free(bytes);
}

/* Summing all data of a changed file 20,000 times would be slow: they are read in one round of 64.
 */
static void open_changed(const unsigned char *bytes, size_t length, bool walk) {
    struct power_source *s = NULL;
    power_error error = {0};
    power_status status = power_source_open_memory(standard, bytes, length, &s, &error);
    if (status == POWER_OK && walk) fuzz_walk(s);
    if (status != POWER_OK) assert_true(error.message[0] != '\0');
    power_source_close(s);
}

static void test_flipped_bits(void **state) {
    (void)state;
    size_t length, header, step = case_sanitized() ? 7 : 1;
    unsigned char *bytes = read_llama(&length, &header);
    for (size_t bit = 0; bit < header * 8; bit += step) {
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        open_changed(bytes, length, bit % 64 == 0);
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    free(bytes);
}

static void test_random_changes(void **state) {
    (void)state;
    size_t length, header;
    unsigned char *bytes = read_llama(&length, &header);
    uint64_t seed = 3;
    int rounds = case_sanitized() ? 2000 : 20000;
    for (int i = 0; i < rounds; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        size_t place = (size_t)(seed >> 33) % header;
        unsigned char kept = bytes[place];
        bytes[place] = (unsigned char)(seed >> 20);
        open_changed(bytes, length, i % 64 == 0);
        bytes[place] = kept;
    }
    open_changed(bytes, length, true);
    free(bytes);
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
        cmocka_unit_test(test_header),         cmocka_unit_test(test_header_refusals),
        cmocka_unit_test(test_skip),           cmocka_unit_test(test_text),
        cmocka_unit_test(test_models),         cmocka_unit_test(test_digest),
        cmocka_unit_test(test_shards),         cmocka_unit_test(test_shard_refusals),
        cmocka_unit_test(test_prefixes),       cmocka_unit_test(test_flipped_bits),
        cmocka_unit_test(test_random_changes),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
