/* SPDX-License-Identifier: MIT */
/* Hostile model files through the public API: each gives its stated outcome, and what is derived
 * from them (prefixes, flipped bits, random bytes) is an error or a model that runs or fails with a
 * status. Input: tests/data/cases and one tiny model. Output: cmocka's verdict. Threads: one.
 * Bounds: 512 MiB of address space in all, but under a sanitizer, which needs it for itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../common/cases.h"
#include "power/power.h"

#define TOKENS 4u
#define PROMPT 3u

/* What a whole test shares. */
struct bench {
    power_runtime *runtime;
    char folder[64];
    float *usual; /* logits of the normal model */
    uint32_t n_vocab;
    unsigned long opened, ran;
};

static power_model_options small_model(int read_only) {
    power_model_options o;
    power_model_options_init(&o);
    o.verify = POWER_VERIFY_NEVER;
    o.max_sequences = 1;
    o.max_tokens = 64;
    o.prefill_rows = 4;
    o.undo_rows = 0;
    o.no_mmap = read_only;
    return o;
}

static power_session_options small_session(void) {
    power_session_options o;
    power_session_options_init(&o);
    o.context = 16;
    o.beyond_trained = 1;
    return o;
}

/* An error is whole: its status, and a message that quotes no path. */
static void check_error(const char *what, power_status status, const power_error *error) {
    if (error->status != status) fail_msg("%s: status %d, error %d", what, status, error->status);
    if (!error->message[0]) fail_msg("%s: %s without a message", what, power_status_text(status));
    if (strstr(error->message, "/tmp") || strstr(error->message, "tests/"))
        fail_msg("%s: a path in \"%s\"", what, error->message);
}

/* A few tokens on a model that opened. Every failure is a status with a message. */
static power_status run_tokens(power_model *model, float *out_logits, power_error *error) {
    static const uint32_t ids[PROMPT] = {0, 1, 0}, last = PROMPT - 1;
    power_session *session = NULL;
    power_session_options o = small_session();
    power_model_info info = {.struct_size = sizeof info};
    power_status status = power_model_get_info(model, &info, error);
    if (status == POWER_OK) status = power_session_open(model, &o, &session, error);
    if (status != POWER_OK) return status;
    float *logits = malloc(sizeof *logits * info.n_vocab);
    assert_non_null(logits);
    status = power_session_evaluate(session, ids, info.n_vocab > 1 ? PROMPT : 1,
                                    info.n_vocab > 1 ? &last : ids, 1, logits, error);
    if (status == POWER_OK && out_logits) memcpy(out_logits, logits, sizeof *logits * info.n_vocab);
    free(logits);
    power_generate_options g;
    power_generate_options_init(&g);
    g.ids = ids;
    g.n_ids = 1;
    g.max_tokens = TOKENS;
    g.sampling.temperature = 0.0f;
    power_generate_result result = {.struct_size = sizeof result};
    if (status == POWER_OK) status = power_generate(session, &g, &result, error);
    power_session_close(session);
    return status;
}

/* Opens, runs, closes. */
static power_status try_model(struct bench *b, const char *path, int read_only,
                              power_error *error) {
    power_model *model = NULL;
    power_model_options o = small_model(read_only);
    power_status status = power_model_open(b->runtime, path, &o, &model, error);
    if (status != POWER_OK) {
        assert_null(model);
        return status;
    }
    b->opened++;
    status = run_tokens(model, NULL, error);
    b->ran += status == POWER_OK;
    power_model_close(model);
    return status;
}

static power_status try_any(struct bench *b, const char *path, const char *what, size_t at) {
    power_error error = {0};
    char place[96];
    power_status status = try_model(b, path, 0, &error);
    if (status == POWER_OK) return status;
    snprintf(place, sizeof place, "%s, change %zu", what, at);
    check_error(place, status, &error);
    return status;
}

/* A normal model gives the bits that it gave before. */
static void check_usual(struct bench *b, const char *after) {
    power_model *model = NULL;
    power_error error = {0};
    power_model_options o = small_model(0);
    power_status status =
        power_model_open(b->runtime, case_path("tiny-llama.gguf"), &o, &model, &error);
    if (status != POWER_OK) fail_msg("after %s: %s", after, error.message);
    power_model_info info = {.struct_size = sizeof info};
    assert_int_equal(power_model_get_info(model, &info, &error), POWER_OK);
    float *logits = malloc(sizeof *logits * info.n_vocab);
    assert_non_null(logits);
    status = run_tokens(model, logits, &error);
    if (status != POWER_OK) fail_msg("after %s: %s", after, error.message);
    if (!b->usual) {
        b->usual = logits;
        b->n_vocab = info.n_vocab;
    } else {
        if (memcmp(b->usual, logits, sizeof *logits * b->n_vocab) != 0)
            fail_msg("after %s the answer is another", after);
        free(logits);
    }
    power_model_close(model);
}

/* ---- a file to change ---- */

static const char *write_base(struct bench *b, const char *name, const unsigned char *bytes,
                              size_t length) {
    static char path[160];
    snprintf(path, sizeof path, "%s/%s", b->folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    fclose(file);
    return path;
}

static void put_byte(int fd, size_t at, unsigned char value) {
    assert_int_equal(pwrite(fd, &value, 1, (off_t)at), 1);
}

static int open_base(const char *path) {
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

/* First byte of the tensor data: the least offset of any tensor. */
static size_t data_start(struct bench *b, const char *path) {
    power_model *model = NULL;
    power_error error = {0};
    power_model_options o = small_model(0);
    o.metadata_only = 1;
    if (power_model_open(b->runtime, path, &o, &model, &error)) fail_msg("%s", error.message);
    uint64_t least = UINT64_MAX;
    power_tensor_info info;
    for (uint32_t i = 0; power_model_tensor(model, i, &info, NULL) == POWER_OK; i++)
        if (info.offset < least) least = info.offset;
    power_model_close(model);
    assert_true(least != UINT64_MAX);
    return (size_t)least;
}

/* ---- the table ---- */

static void check_refused(const struct case_row *row, power_status status,
                          const power_error *error) {
    if (status == POWER_OK) fail_msg("%s was opened (%s)", row->file, row->what);
    check_error(row->file, status, error);
    if (row->expect == CASE_REFUSE && !case_error_matches(row, error))
        fail_msg("%s: %s", row->file, error->message);
}

static void check_row(struct bench *b, const struct case_row *row, int read_only) {
    power_error error = {0};
    power_status status = try_model(b, case_path(row->file), read_only, &error);
    if (row->expect == CASE_LOAD) {
        if (status != POWER_OK) fail_msg("%s: %s", row->file, error.message);
        return;
    }
    check_refused(row, status, &error);
    if (row->expect != CASE_PARSE) return;
    power_model *model = NULL;
    power_model_options o = small_model(read_only);
    o.metadata_only = 1;
    status = power_model_open(b->runtime, case_path(row->file), &o, &model, &error);
    if (status != POWER_OK) fail_msg("%s, metadata only: %s", row->file, error.message);
    power_session *session = NULL;
    status = power_session_open(model, NULL, &session, &error);
    assert_int_not_equal(status, POWER_OK);
    check_error(row->file, status, &error);
    power_model_close(model);
}

static void test_each_file(void **state) {
    struct bench *b = *state;
    struct case_table table = case_table_open();
    assert_true(table.n_rows >= 33);
    for (size_t i = 0; i < table.n_rows; i++) {
        for (int read_only = 0; read_only < 2; read_only++) {
            check_row(b, &table.rows[i], read_only);
            check_usual(b, table.rows[i].file);
        }
    }
    case_table_close(&table);
}

/* ---- scripted answers ---- */

struct answer {
    uint32_t ids[32];
    size_t n_ids, n_bytes;
    char text[512];
};

static int on_delta(void *context, const power_delta *delta) {
    struct answer *a = context;
    if (a->n_ids < 32) a->ids[a->n_ids++] = delta->id;
    if (a->n_bytes + delta->text_bytes < sizeof a->text) {
        memcpy(a->text + a->n_bytes, delta->text, delta->text_bytes);
        a->n_bytes += delta->text_bytes;
    }
    return 0;
}

/* Bytes of one entry [id, "text"] or [id, {"hex": "..."}]. */
static size_t piece_bytes(const json_t *piece, char *out) {
    const char *text = json_string_value(json_array_get(piece, 1));
    const char *hex = json_string_value(json_object_get(json_array_get(piece, 1), "hex"));
    size_t n = 0;
    if (text) {
        n = strlen(text);
        memcpy(out, text, n);
    }
    for (unsigned byte; hex && sscanf(hex, "%2x", &byte) == 1; hex += 2)
        out[n++] = (char)byte;
    return n;
}

/* The answer that the table promises: `max` tokens of one that has no end. */
static void wanted_answer(const json_t *script, char letter, size_t max, struct answer *out,
                          int *out_endless) {
    size_t n = json_array_size(script);
    *out_endless = n && json_is_string(json_array_get(script, n - 1));
    *out = (struct answer){0};
    if (*out_endless) n--;
    for (size_t i = 0; i < (*out_endless ? max : n); i++) {
        const json_t *piece = json_array_get(script, i < n ? i : n - 1);
        out->ids[out->n_ids++] = (uint32_t)json_integer_value(json_array_get(piece, 0));
        out->n_bytes += piece_bytes(piece, out->text + out->n_bytes);
    }
    if (letter != 'l') return;
    /* f0 is not followed by what it asks for: one replacement character, then "(". */
    static const char mended[] = "bad\xEF\xBF\xBD(end";
    out->n_bytes = sizeof mended - 1;
    memcpy(out->text, mended, out->n_bytes);
}

static void ask(power_model *model, const char *prompt, int parse_special, size_t max,
                struct answer *out, power_generate_result *result) {
    uint32_t ids[64];
    size_t n_ids;
    power_error error = {0};
    power_session *session = NULL;
    power_session_options so = small_session();
    so.context = 64;
    *out = (struct answer){0};
    power_status status = power_tokenize(model, prompt, strlen(prompt), !parse_special,
                                         parse_special, ids, 64, &n_ids, &error);
    if (status == POWER_OK) status = power_session_open(model, &so, &session, &error);
    power_generate_options g;
    power_generate_options_init(&g);
    g.ids = ids;
    g.n_ids = n_ids;
    g.max_tokens = (uint32_t)max;
    g.sampling.temperature = 0.0f;
    g.on_delta = on_delta;
    g.context = out;
    *result = (power_generate_result){.struct_size = sizeof *result};
    if (status == POWER_OK) status = power_generate(session, &g, result, &error);
    if (status != POWER_OK) fail_msg("\"%s\": %s", prompt, error.message);
    power_session_close(session);
}

static void check_answer(power_model *model, const char *file, const char *prompt, int rendered,
                         const json_t *script) {
    struct answer want, got;
    int endless;
    power_generate_result result;
    char letter = prompt[strlen(prompt) - 1], text[256];
    const char *asked = prompt;
    size_t bytes;
    if (rendered) {
        const power_message message = {"user", prompt};
        assert_int_equal(power_render(model, &message, 1, 1, text, sizeof text, &bytes, NULL),
                         POWER_OK);
        letter = text[bytes - 1];
        asked = text;
    }
    assert_int_equal(letter, prompt[strlen(prompt) - 1]);
    wanted_answer(script, strcmp(file, "script-text.gguf") ? 0 : letter, 12, &want, &endless);
    ask(model, asked, rendered, endless ? 12 : 20, &got, &result);
    if (got.n_ids != want.n_ids || memcmp(got.ids, want.ids, want.n_ids * sizeof *want.ids) != 0)
        fail_msg("%s, \"%s\": other tokens (%.*s)", file, asked, (int)got.n_bytes, got.text);
    /* An answer that was cut may hold bytes of an unfinished character back; none here does. */
    if (got.n_bytes != want.n_bytes || memcmp(got.text, want.text, want.n_bytes) != 0)
        fail_msg("%s, \"%s\": \"%.*s\"", file, asked, (int)got.n_bytes, got.text);
    assert_int_equal(result.finish, endless ? POWER_FINISH_LENGTH : POWER_FINISH_STOP);
}

static void check_scripts(struct bench *b, const char *file, const json_t *scripts) {
    power_model *model = NULL;
    power_error error = {0};
    power_model_options o = small_model(0);
    o.max_tokens = 0;
    if (power_model_open(b->runtime, case_path(file), &o, &model, &error))
        fail_msg("%s: %s", file, error.message);
    size_t n = 0;
    const char *letter;
    json_t *script;
    json_object_foreach((json_t *)(uintptr_t)scripts, letter, script) {
        char prompt[16];
        snprintf(prompt, sizeof prompt, "say %s", letter);
        check_answer(model, file, prompt, 0, script);
        check_answer(model, file, prompt, 1, script);
        n++;
    }
    assert_true(n >= 5);
    power_model_close(model);
}

static void test_scripts(void **state) {
    struct case_table table = case_table_open();
    check_scripts(*state, "script-text.gguf", json_object_get(table.root, "script-text.gguf"));
    check_scripts(*state, "script-tools.gguf", json_object_get(table.root, "script-tools.gguf"));
    case_table_close(&table);
}

/* ---- derived files ---- */

static void test_prefixes(void **state) {
    struct bench *b = *state;
    static const char *const bases[] = {"one-tensor.gguf", "micro.gguf"};
    for (size_t i = 0; i < 2; i++) {
        size_t length, step = i && case_sanitized() ? 97 : 1;
        unsigned char *bytes = case_read(case_path(bases[i]), &length);
        const char *path = write_base(b, bases[i], bytes, length);
        for (size_t n = (length - 1) / step * step; n < length; n -= step) { /* down past 0 */
            power_error error = {0};
            assert_int_equal(truncate(path, (off_t)n), 0);
            power_status status = try_model(b, path, 0, &error);
            if (status == POWER_OK) fail_msg("%s: %zu bytes were opened", bases[i], n);
            check_error(bases[i], status, &error);
        }
        unlink(path);
        free(bytes);
    }
    check_usual(b, "prefixes");
}

static void flip_bits(struct bench *b, const char *path, size_t first, size_t end, size_t step) {
    size_t length;
    unsigned char *bytes = case_read(path, &length);
    int fd = open_base(path);
    assert_true(end <= length);
    for (size_t bit = first * 8; bit < end * 8; bit += step) {
        put_byte(fd, bit / 8, (unsigned char)(bytes[bit / 8] ^ 1 << bit % 8));
        try_any(b, path, "a flipped bit", bit);
        put_byte(fd, bit / 8, bytes[bit / 8]);
    }
    close(fd);
    free(bytes);
}

static void test_flipped_bits(void **state) {
    struct bench *b = *state;
    static const char *const bases[] = {"one-tensor.gguf", "micro.gguf"};
    for (size_t i = 0; i < 2; i++) {
        size_t length;
        unsigned char *bytes = case_read(case_path(bases[i]), &length);
        const char *path = write_base(b, bases[i], bytes, length);
        size_t end = i ? data_start(b, path) : length;
        flip_bits(b, path, 0, end, i && case_sanitized() ? 13 : 1);
        unlink(path);
        free(bytes);
    }
    check_usual(b, "flipped bits");
}

static uint32_t next_random(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33);
}

/* One to four bytes a round; half of the rounds change the header, where there is much to break. */
static void test_random_changes(void **state) {
    struct bench *b = *state;
    size_t length, rounds = case_sanitized() ? 2000 : 20000;
    unsigned char *bytes = case_read(case_path("tiny-llama.gguf"), &length);
    const char *path = write_base(b, "random.gguf", bytes, length);
    size_t header = data_start(b, path);
    int fd = open_base(path);
    uint64_t seed = 7;
    for (size_t i = 0; i < rounds; i++) {
        size_t places[4], n = 1 + next_random(&seed) % 4, span = i % 2 ? header : length;
        for (size_t j = 0; j < n; j++) {
            places[j] = next_random(&seed) % span;
            put_byte(fd, places[j], (unsigned char)next_random(&seed));
        }
        try_any(b, path, "random bytes", i);
        for (size_t j = 0; j < n; j++)
            put_byte(fd, places[j], bytes[places[j]]);
        if (i % 1000 == 0) check_usual(b, "random bytes");
    }
    close(fd);
    unlink(path);
    free(bytes);
    check_usual(b, "random bytes");
}

/* ---- extreme values ---- */

static uint64_t number_at(const unsigned char *at, size_t bytes) {
    uint64_t value = 0;
    for (size_t i = bytes; i-- > 0;)
        value = value << 8 | at[i];
    return value;
}

/* Bytes of one value of metadata at `at`, whose file is valid. */
static size_t value_bytes(const unsigned char *at, uint64_t type) {
    static const size_t sizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    if (type == 8) return 8 + number_at(at, 8);
    if (type != 9) return sizes[type];
    uint64_t element = number_at(at, 4), count = number_at(at + 4, 8);
    size_t bytes = 12;
    for (uint64_t i = 0; i < count; i++)
        bytes += value_bytes(at + bytes, element);
    return bytes;
}

/* A value of 32 bits in the metadata. */
struct value {
    size_t at;
    int is_float, is_layers;
};

/* Any other number of layers is another model. No float may be infinite or NaN. */
static void try_values(struct bench *b, const char *path, int fd, const unsigned char *bytes,
                       struct value value) {
    /* As integers, and as floats: 0, tiny, -1, 1e30, infinity, NaN. */
    static const uint32_t values[] = {0,          1,          2,          3,          7,
                                      31,         255,        256,        65535,      65536,
                                      1u << 20,   1u << 24,   0x7fffffff, 0x80000000, 0xffffffff,
                                      0x00000001, 0xbf800000, 0x7149f2ca, 0x7f800000, 0x7fc00000};
    size_t at = value.at;
    for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
        for (size_t i = 0; i < 4; i++)
            put_byte(fd, at + i, (unsigned char)(values[v] >> 8 * i));
        power_status status = try_any(b, path, "a value", at);
        int wrong = value.is_float ? (values[v] & 0x7f800000) == 0x7f800000
                                   : value.is_layers && values[v] != number_at(bytes + at, 4);
        if (wrong && status == POWER_OK) fail_msg("%#x at byte %zu was taken", values[v], at);
    }
    for (size_t i = 0; i < 4; i++)
        put_byte(fd, at + i, bytes[at + i]);
}

/* Every number of 32 bits in the metadata of a model, one after the other. */
static void try_all_values(struct bench *b, const char *family) {
    char source[1024];
    size_t length, at = 24, tried = 0;
    snprintf(source, sizeof source, POWER_TEST_DATA "/tiny-models/%s/model.gguf", family);
    unsigned char *bytes = case_read(source, &length);
    const char *path = write_base(b, "values.gguf", bytes, length);
    int fd = open_base(path);
    uint64_t keys = number_at(bytes + 16, 8);
    for (uint64_t i = 0; i < keys; i++) {
        static const char layers[] = ".block_count";
        at += 8 + number_at(bytes + at, 8);
        int is_layers = !memcmp(bytes + at - (sizeof layers - 1), layers, sizeof layers - 1);
        uint64_t type = number_at(bytes + at, 4);
        at += 4;
        if (type >= 4 && type <= 6) {
            try_values(b, path, fd, bytes, (struct value){at, type == 6, is_layers});
            tried++;
        }
        at += value_bytes(bytes + at, type);
    }
    assert_true(tried >= 8);
    close(fd);
    unlink(path);
    free(bytes);
}

static void test_extreme_values(void **state) {
    static const char *const families[] = {"llama3-rope", "mixtral", "qwen2",  "qwen3moe",
                                           "qwen35",      "gemma2",  "gemma3", "phi3",
                                           "olmo2",       "granite"};
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        try_all_values(*state, families[i]);
    check_usual(*state, "extreme values");
}

/* ---- SafeTensors ---- */

static void copy_given(struct bench *b, const char *name) {
    size_t length;
    char path[1024];
    snprintf(path, sizeof path, POWER_TEST_DATA "/tiny-models/llama/%s", name);
    unsigned char *bytes = case_read(path, &length);
    write_base(b, name, bytes, length);
    free(bytes);
}

static void test_safetensors(void **state) {
    struct bench *b = *state;
    static const char *const companions[] = {"tokenizer.json", "tokenizer_config.json",
                                             "config.json", "model.safetensors"};
    char path[160];
    size_t length;
    for (size_t i = 0; i < 4; i++)
        copy_given(b, companions[i]);
    snprintf(path, sizeof path, "%s/model.safetensors", b->folder);
    power_error error = {0};
    if (try_model(b, b->folder, 0, &error)) fail_msg("%s", error.message);
    flip_bits(b, path, 0, data_start(b, b->folder), case_sanitized() ? 41 : 1);
    snprintf(path, sizeof path, "%s/config.json", b->folder);
    unsigned char *bytes = case_read(path, &length);
    free(bytes);
    flip_bits(b, path, 0, length, case_sanitized() ? 13 : 1);
    if (try_model(b, b->folder, 0, &error)) fail_msg("%s", error.message);
    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%s", b->folder, companions[i]);
        unlink(path);
    }
    check_usual(b, "changed SafeTensors");
}

/* ---- the bench ---- */

static int set_up(void **state) {
    static struct bench bench;
    power_runtime_options o;
    power_error error = {0};
    power_runtime_options_init(&o);
    o.threads = 1;
    o.guard_mapped_files = 1;
    if (power_runtime_open(&o, &bench.runtime, &error)) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    const char *tmp = getenv("TMPDIR");
    snprintf(bench.folder, sizeof bench.folder, "%.40s/power-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(bench.folder)) return 1;
    *state = &bench;
    check_usual(&bench, "nothing");
    return 0;
}

static int tear_down(void **state) {
    struct bench *b = *state;
    print_message("%lu changed files opened, %lu ran\n", b->opened, b->ran);
    free(b->usual);
    power_runtime_close(b->runtime);
    return rmdir(b->folder);
}

int main(void) {
    struct rlimit limit = {(rlim_t)512 << 20, (rlim_t)512 << 20};
    if (!case_sanitized() && setrlimit(RLIMIT_AS, &limit) != 0) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_file),      cmocka_unit_test(test_scripts),
        cmocka_unit_test(test_prefixes),       cmocka_unit_test(test_flipped_bits),
        cmocka_unit_test(test_random_changes), cmocka_unit_test(test_safetensors),
        cmocka_unit_test(test_extreme_values),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
