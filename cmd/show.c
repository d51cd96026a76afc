/* SPDX-License-Identifier: MIT */
/* power show: what a model file holds and what it needs.
 * Input: a model file. Output: metadata, tensors by type, digest, template, memory for a context.
 * Owning thread: main. Bounds: metadata values are cut for display, never in --json --metadata. */
#include "common.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char name[] = "show";

struct show {
    struct model_args m;
    struct opened o;
    power_model_info info;
    int json, tensors, metadata, template, digest;
    char hex[65];
    uint32_t context;
    uint64_t state_bytes, scratch_bytes;
    bool priced;
    power_error price_error;
};

static void line(const char *label, const char *format, ...) POWER_PRINTF(2, 3);
static void line(const char *label, const char *format, ...) {
    char text[1024], value[900];
    va_list list;
    va_start(list, format);
    vsnprintf(value, sizeof value, format, list);
    va_end(list);
    int n = snprintf(text, sizeof text, "%-16s %s\n", label, value);
    write_out(text, (size_t)n);
}

struct type_sum {
    const char *type;
    uint32_t count;
    uint64_t bytes;
};

static size_t sum_types(struct show *s, struct type_sum *sums, size_t capacity) {
    size_t n = 0;
    for (uint32_t i = 0; i < s->info.n_tensors; i++) {
        power_tensor_info t;
        power_error error;
        if (power_model_tensor(s->o.model, i, &t, &error)) break;
        size_t at = 0;
        while (at < n && strcmp(sums[at].type, t.type))
            at++;
        if (at == capacity) continue;
        if (at == n) sums[n++] = (struct type_sum){t.type, 0, 0};
        sums[at].count++;
        sums[at].bytes += t.bytes;
    }
    return n;
}

static const char *dims_text(const power_tensor_info *t, char out[96]) {
    size_t n = 0;
    out[0] = 0;
    for (uint32_t d = 0; d < t->rank && n < 80; d++)
        n += (size_t)snprintf(out + n, 96 - n, "%s%" PRIu64, d ? " x " : "", t->dims[d]);
    return out;
}

static void print_tensors(struct show *s) {
    char dims[96], text[320];
    for (uint32_t i = 0; i < s->info.n_tensors; i++) {
        power_tensor_info t;
        power_error error;
        if (power_model_tensor(s->o.model, i, &t, &error)) return;
        int n = snprintf(text, sizeof text, "%-44s %-8s %-24s %12" PRIu64 " bytes at %" PRIu64 "\n",
                         t.name, t.type, dims_text(&t, dims), t.bytes, t.offset);
        if (!write_out(text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1)) return;
    }
}

static void print_metadata(struct show *s) {
    char key[256], value[512], text[800];
    for (uint32_t i = 0; i < s->info.n_metadata; i++) {
        power_error error;
        if (power_model_metadata(s->o.model, i, key, sizeof key, value, sizeof value, &error))
            continue;
        for (char *p = value; *p; p++)
            if (*p == '\n' || *p == '\r') *p = ' ';
        int n = snprintf(text, sizeof text, "%-44s %.300s\n", key, value);
        if (!write_out(text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1)) return;
    }
}

static void print_end_tokens(struct show *s) {
    char text[512] = "";
    size_t n = 0;
    for (uint32_t i = 0; i < s->info.n_end_tokens && n + 80 < sizeof text; i++) {
        const char *piece;
        size_t length;
        power_error error;
        if (power_token_bytes(s->o.model, s->info.end_tokens[i], &piece, &length, &error)) continue;
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%u %.*s", n ? ", " : "",
                              s->info.end_tokens[i], length < 40 ? (int)length : 40, piece);
    }
    line("end tokens", "%s", *text ? text : "none");
}

static int print_plain(struct show *s) {
    const power_model_info *f = &s->info;
    struct type_sum sums[64];
    line("architecture", "%s", f->architecture ? f->architecture : "none");
    if (f->name) line("name", "%.200s", f->name);
    line("file", "%s, %" PRIu64 " bytes", f->file_type, f->file_bytes);
    line("parameters", "%.1f million", (double)f->n_parameters / 1e6);
    line("layers", "%u, hidden %u, heads %u, KV heads %u of %u", f->n_layers, f->n_embd, f->n_heads,
         f->n_kv_heads, f->head_dim);
    line("vocab", "%u tokens", f->n_vocab);
    line("context", "%u tokens trained", f->context_length);
    print_end_tokens(s);
    line("template", "%s", f->chat_template ? "yes (--template prints it)" : "none");
    size_t n = sum_types(s, sums, 64);
    for (size_t i = 0; i < n; i++)
        line(i ? "" : "tensors", "%4u %-8s %12" PRIu64 " bytes", sums[i].count, sums[i].type,
             sums[i].bytes);
    if (s->priced) {
        line("memory", "%.1f MiB state for %u tokens, %.1f MiB scratch, %.1f MiB weights",
             (double)s->state_bytes / 1048576.0, s->context, (double)s->scratch_bytes / 1048576.0,
             (double)f->weights_bytes / 1048576.0);
    } else {
        line("memory", "not known: %s", s->price_error.message);
    }
    line("sha256", "%s", s->hex[0] ? s->hex : "not computed (--digest)");
    if (s->metadata) print_metadata(s);
    if (s->tensors) print_tensors(s);
    int rc = write_failed(name);
    return rc >= 0 ? rc : EXIT_OK;
}

static json_t *tensors_json(struct show *s) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < s->info.n_tensors; i++) {
        power_tensor_info t;
        power_error error;
        if (power_model_tensor(s->o.model, i, &t, &error)) continue;
        json_t *dims = json_array();
        for (uint32_t d = 0; d < t.rank; d++)
            json_array_append_new(dims, json_integer((json_int_t)t.dims[d]));
        json_array_append_new(list, json_pack("{s:o,s:s,s:o,s:I,s:I}", "name",
                                              json_text(t.name, strlen(t.name)), "type", t.type,
                                              "dims", dims, "offset", (json_int_t)t.offset, "bytes",
                                              (json_int_t)t.bytes));
    }
    return list;
}

static json_t *metadata_json(struct show *s) {
    size_t capacity = 1 << 20;
    char key[1024], *value = malloc(capacity);
    json_t *object = json_object();
    for (uint32_t i = 0; value && i < s->info.n_metadata; i++) {
        power_error error;
        if (!power_model_metadata(s->o.model, i, key, sizeof key, value, capacity, &error))
            json_object_set_new(object, key, json_text(value, strlen(value)));
    }
    free(value);
    return object;
}

static void set_text(json_t *o, const char *key, const char *text) {
    json_object_set_new(o, key, text ? json_text(text, strlen(text)) : json_null());
}

static int print_all_json(struct show *s) {
    const power_model_info *f = &s->info;
    json_t *o = json_pack("{s:s,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "format", f->file_type,
                          "file_bytes", (json_int_t)f->file_bytes, "parameters",
                          (json_int_t)f->n_parameters, "layers", (json_int_t)f->n_layers, "hidden",
                          (json_int_t)f->n_embd, "heads", (json_int_t)f->n_heads, "kv_heads",
                          (json_int_t)f->n_kv_heads, "head_dim", (json_int_t)f->head_dim, "vocab",
                          (json_int_t)f->n_vocab, "context_length", (json_int_t)f->context_length);
    json_t *ends = json_array();
    for (uint32_t i = 0; i < f->n_end_tokens; i++)
        json_array_append_new(ends, json_integer(f->end_tokens[i]));
    set_text(o, "architecture", f->architecture);
    set_text(o, "name", f->name);
    set_text(o, "chat_template", f->chat_template);
    set_text(o, "sha256", s->hex[0] ? s->hex : NULL);
    json_object_set_new(o, "end_tokens", ends);
    if (s->priced)
        json_object_set_new(o, "memory",
                            json_pack("{s:I,s:I,s:I,s:I}", "context", (json_int_t)s->context,
                                      "state_bytes", (json_int_t)s->state_bytes, "scratch_bytes",
                                      (json_int_t)s->scratch_bytes, "weights_bytes",
                                      (json_int_t)f->weights_bytes));
    json_object_set_new(o, "metadata", metadata_json(s));
    json_object_set_new(o, "tensors", tensors_json(s));
    return print_json(name, o);
}

/* Byte for byte: what comes out can be used as a template file. */
static int print_template(const struct show *s) {
    const char *text = s->info.chat_template;
    if (!text) return fail_text(name, "the model has no chat template");
    write_out(text, strlen(text));
    int rc = write_failed(name);
    return rc >= 0 ? rc : EXIT_OK;
}

static int look(struct show *s) {
    power_error error = {.offset = POWER_NO_OFFSET};
    s->info.struct_size = sizeof s->info;
    if (power_model_get_info(s->o.model, &s->info, &error)) return fail_with(name, &error);
    if (s->template && !s->json) return print_template(s);
    s->context = s->m.ctx                         ? s->m.ctx
                 : s->info.context_length > 4096u ? 4096u
                                                  : s->info.context_length;
    power_kv_type kv = !strcmp(s->m.kv, "f32")    ? POWER_KV_F32
                       : !strcmp(s->m.kv, "q8_0") ? POWER_KV_Q8_0
                                                  : POWER_KV_F16;
    s->priced = !power_model_price(s->o.model, s->context, kv, &s->state_bytes, &s->scratch_bytes,
                                   &s->price_error);
    if (s->digest && power_model_digest(s->o.model, s->hex, &error)) return fail_with(name, &error);
    return s->json ? print_all_json(s) : print_plain(s);
}

int command_show(int argc, char **argv) {
    static const struct command command = {"show",
                                           "MODEL",
                                           "Shows what a model file holds and the memory it needs.",
                                           "power show model.gguf --ctx 8192 --tensors",
                                           1,
                                           1};
    struct show s = {0};
    model_args_init(&s.m);
    const struct arg args[] = {
        {ARG_FLAG, "metadata", 0, NULL, "every metadata key", &s.metadata, 0, 0},
        {ARG_FLAG, "tensors", 0, NULL, "every tensor", &s.tensors, 0, 0},
        {ARG_FLAG, "template", 0, NULL, "the chat template, and nothing else", &s.template, 0, 0},
        {ARG_FLAG, "digest", 0, NULL, "SHA-256 of the file (reads all of it)", &s.digest, 0, 0},
        {ARG_U32, "ctx", 'c', "N",
         "context of the memory figure (default: the model's, at most 4096)", &s.m.ctx, 1,
         1u << 28},
        {ARG_TEXT, "kv", 0, "TYPE",
         "KV cache type of the memory figure: f16, f32 or q8_0 (default: f16)", &s.m.kv, 0, 0},
        {ARG_FLAG, "json", 0, NULL, "print everything as JSON", &s.json, 0, 0},
        {ARG_END, NULL, 0, NULL, NULL, NULL, 0, 0}};
    const char *model;
    size_t count;
    int rc = args_parse(&command, args, argc, argv, &model, &count);
    if (rc >= 0) return rc;
    if (strcmp(s.m.kv, "f16") && strcmp(s.m.kv, "f32") && strcmp(s.m.kv, "q8_0")) {
        fail_text(name, "wrong value \"%.40s\" for --kv, want f16, f32 or q8_0", s.m.kv);
        return EXIT_USAGE;
    }
    rc = open_model(name, &s.m, model, true, &s.o);
    if (rc < 0) rc = look(&s);
    close_all(&s.o);
    return rc;
}
