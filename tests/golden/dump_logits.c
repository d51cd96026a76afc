/* SPDX-License-Identifier: MIT */
/* Writes the logits of every position of given prompts, for the scripts that compare them.
 * Input: MODEL PROMPTS OUT [f16|f32|q8_0]; PROMPTS is a JSON object with "prompts", a JSON array,
 * or one object a line; each prompt has "ids". Output: float32 [positions][vocab] of each prompt in
 * order. Threads: the runtime's. Bounds: 4,096 tokens a prompt. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/harness.h"

#define ROWS 64u

static void die(const char *what) {
    fprintf(stderr, "dump_logits: %s\n", what);
    exit(1);
}

static json_t *read_prompts(const char *path) {
    json_error_t error;
    json_t *root = json_load_file(path, 0, &error);
    json_t *inner = json_is_object(root) ? json_incref(json_object_get(root, "prompts")) : NULL;
    if (inner) {
        json_decref(root);
        return inner;
    }
    if (json_is_array(root)) return root;
    FILE *file = fopen(path, "rb");
    if (!file) die(path);
    json_t *list = json_array(), *line;
    while ((line = json_loadf(file, JSON_DISABLE_EOF_CHECK | JSON_ALLOW_NUL, &error)))
        json_array_append_new(list, line);
    fclose(file);
    return list;
}

static void dump(struct harness *h, const json_t *ids, FILE *out) {
    size_t n = json_array_size(ids);
    uint32_t *list = malloc((n + 1) * sizeof *list);
    if (!list) die("out of memory");
    for (size_t i = 0; i < n; i++)
        list[i] = (uint32_t)json_integer_value(json_array_get(ids, i));
    power_error error = {0};
    harness_must(power_session_truncate(h->session, 0, &error), &error, "truncate");
    for (size_t at = 0; at < n; at += ROWS) {
        size_t count = n - at < ROWS ? n - at : ROWS;
        float *rows = harness_logits(h, h->session, list + at, count);
        if (fwrite(rows, sizeof *rows * h->info.n_vocab, count, out) != count) die("cannot write");
        free(rows);
    }
    free(list);
}

int main(int argc, char **argv) {
    if (argc < 4) die("usage: dump_logits MODEL PROMPTS OUT [f16|f32|q8_0]");
    struct harness h;
    struct harness_options o = harness_defaults();
    const char *kv = argc > 4 ? argv[4] : "f16";
    o.kv = !strcmp(kv, "f32") ? POWER_KV_F32 : !strcmp(kv, "q8_0") ? POWER_KV_Q8_0 : POWER_KV_F16;
    o.max_sequences = 1;
    o.threads = 2;
    json_t *prompts = read_prompts(argv[2]);
    o.context = 1;
    for (size_t i = 0; i < json_array_size(prompts); i++) {
        size_t n = json_array_size(json_object_get(json_array_get(prompts, i), "ids"));
        if (n > o.context) o.context = (uint32_t)n;
    }
    harness_open(&h, argv[1], &o);
    FILE *out = fopen(argv[3], "wb");
    if (!out) die(argv[3]);
    for (size_t i = 0; i < json_array_size(prompts); i++)
        dump(&h, json_object_get(json_array_get(prompts, i), "ids"), out);
    if (fclose(out)) die("cannot write");
    harness_close(&h);
    json_decref(prompts);
    return 0;
}
