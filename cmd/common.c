/* SPDX-License-Identifier: MIT */
/* See common.h. Job: what the commands share. Input: options. Output: handles, text, exit statuses.
 * Owning thread: main. Bounds: files and pipes up to TEXT_MAX. */
#include "common.h"

#include "os/os.h"
#include "text/utf8.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int fail_text(const char *command, const char *format, ...) {
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    end_progress();
    fprintf(stderr, "power %s: %s\n", command, text);
    return EXIT_FAILED;
}

int fail_with(const char *command, const power_error *error) {
    if (error->status == POWER_CANCELLED && interrupted()) {
        end_progress();
        return EXIT_INTERRUPTED;
    }
    char offset[24];
    snprintf(offset, sizeof offset, "%llu", (unsigned long long)error->offset);
    if (error->offset != POWER_NO_OFFSET && error->offset && !strstr(error->message, offset))
        return fail_text(command, "%s (offset %s)", error->message, offset);
    return fail_text(command, "%s", error->message);
}

/* ---- interruption ---- */

static _Atomic(int) interrupt_flag;
static power_session *_Atomic interrupt_session;

static void on_interrupt(int number) {
    (void)number;
    atomic_store(&interrupt_flag, 1);
    power_session *session = atomic_load(&interrupt_session);
    if (session) power_session_cancel(session);
}

void interrupt_watch(power_session *session) {
    struct sigaction action = {.sa_handler = on_interrupt};
    atomic_store(&interrupt_session, session);
    sigaction(SIGINT, &action, NULL);
}

bool interrupted(void) {
    return atomic_load(&interrupt_flag) != 0;
}

void interrupt_clear(void) {
    atomic_store(&interrupt_flag, 0);
}

/* ---- model ---- */

static int parse_kv(const char *command, const char *text, power_kv_type *out) {
    if (!strcmp(text, "f16")) return *out = POWER_KV_F16, -1;
    if (!strcmp(text, "f32")) return *out = POWER_KV_F32, -1;
    if (!strcmp(text, "q8_0")) return *out = POWER_KV_Q8_0, -1;
    fail_text(command, "wrong value \"%.40s\" for --kv, want f16, f32 or q8_0", text);
    return EXIT_USAGE;
}

static int parse_verify(const char *command, const char *text, power_verify *out) {
    if (!strcmp(text, "once")) return *out = POWER_VERIFY_ONCE, -1;
    if (!strcmp(text, "always")) return *out = POWER_VERIFY_ALWAYS, -1;
    if (!strcmp(text, "never")) return *out = POWER_VERIFY_NEVER, -1;
    fail_text(command, "wrong value \"%.40s\" for --verify, want once, always or never", text);
    return EXIT_USAGE;
}

int show_progress(void *context, double done) {
    (void)context;
    if (isatty(STDERR_FILENO)) fprintf(stderr, "\rloading %3.0f %%", done * 100.0);
    return interrupted();
}

void end_progress(void) {
    if (isatty(STDERR_FILENO)) fputs("\r\033[K", stderr);
}

int open_model(const char *command, const struct model_args *m, const char *path,
               bool metadata_only, struct opened *out) {
    power_error error = {.offset = POWER_NO_OFFSET};
    power_runtime_options r;
    power_model_options o;
    power_runtime_options_init(&r);
    power_model_options_init(&o);
    *out = (struct opened){0};
    r.threads = m->threads;
    r.max_memory_bytes = m->memory;
    r.guard_mapped_files = 1;
    if (power_cpu_mask_parse(m->cpu_mask, &r.cpu_mask, &error))
        return fail_with(command, &error), EXIT_USAGE;
    int rc = parse_verify(command, m->verify, &o.verify);
    if (rc >= 0) return rc;
    if (m->sha256 && (strlen(m->sha256) != 64 || strspn(m->sha256, "0123456789abcdefABCDEF") != 64))
        return fail_text(command, "wrong value for --sha256, want 64 hexadecimal digits"),
               EXIT_USAGE;
    if (m->pre && !*m->pre) return fail_text(command, "--pre is empty"), EXIT_USAGE;
    interrupt_watch(NULL);
    o.metadata_only = metadata_only;
    o.no_mmap = m->no_mmap;
    o.no_pack = m->no_pack;
    o.no_fusion = m->no_fusion;
    o.sha256 = m->sha256;
    o.pre_tokenizer = m->pre;
    o.progress = show_progress;
    o.max_sequences = 1;
    o.max_tokens = m->ctx ? m->ctx : m->tokens;
    if (m->chunk) o.prefill_rows = m->chunk;
    if (power_runtime_open(&r, &out->runtime, &error)) return fail_with(command, &error);
    if (power_model_open(out->runtime, path, &o, &out->model, &error)) {
        rc = fail_with(command, &error);
        close_all(out);
        return rc;
    }
    end_progress();
    return -1;
}

int open_session(const char *command, const struct model_args *m, uint32_t at_least,
                 struct opened *o) {
    power_error error = {.offset = POWER_NO_OFFSET};
    power_session_options s;
    power_session_options_init(&s);
    s.context = m->ctx;
    s.beyond_trained = m->beyond_trained;
    if (!m->ctx && at_least) s.context = at_least;
    int rc = parse_kv(command, m->kv, &s.kv_type);
    if (rc >= 0) return rc;
    if (power_session_open(o->model, &s, &o->session, &error)) {
        power_model_info info = {.struct_size = sizeof info};
        power_error ignored;
        if (error.status == POWER_LIMIT && !s.beyond_trained &&
            !power_model_get_info(o->model, &info, &ignored) && s.context > info.context_length)
            return fail_text(command, "%s (see --beyond-trained)", error.message);
        return fail_with(command, &error);
    }
    o->context = power_session_context(o->session);
    interrupt_watch(o->session);
    return -1;
}

void close_all(struct opened *o) {
    interrupt_watch(NULL);
    power_session_close(o->session);
    power_model_close(o->model);
    power_runtime_close(o->runtime);
    *o = (struct opened){0};
}

/* ---- sampling ---- */

static int parse_bias(const char *command, const char *text, power_bias *out) {
    char id[24];
    uint64_t n;
    double x;
    size_t length = strcspn(text, "=");
    if (length < sizeof id && text[length] == '=') {
        memcpy(id, text, length);
        id[length] = 0;
        if (args_unsigned(id, &n) && n < UINT32_MAX && args_number(text + length + 1, &x)) {
            *out = (power_bias){(uint32_t)n, (float)x};
            return -1;
        }
    }
    fail_text(command, "wrong value \"%.40s\" for --logit-bias, want ID=NUMBER", text);
    return EXIT_USAGE;
}

static int parse_seed(const char *command, const char *text, uint64_t *out) {
    power_error error;
    if (strcmp(text, "random")) {
        if (args_unsigned(text, out) && *out <= INT64_MAX) return -1;
        fail_text(command, "wrong value \"%.40s\" for --seed, want a number below 2^63 or random",
                  text);
        return EXIT_USAGE;
    }
    if (power_random_bytes(out, sizeof *out, &error)) return fail_with(command, &error);
    *out >>= 11; /* 53 bits: a number that every reader of JSON holds */
    fprintf(stderr, "seed %llu\n", (unsigned long long)*out);
    return -1;
}

static int apply_lists(const char *command, const struct sampling_args *s,
                       struct sampling_lists *lists, power_generate_options *g) {
    for (size_t i = 0; i < s->biases.count; i++) {
        int rc = parse_bias(command, s->biases.items[i], &lists->biases[i]);
        if (rc >= 0) return rc;
    }
    for (size_t i = 0; i < s->stop_ids.count; i++) {
        uint64_t id;
        if (!args_unsigned(s->stop_ids.items[i], &id) || id >= UINT32_MAX) {
            fail_text(command, "wrong value \"%.40s\" for --stop-id, want a token id",
                      s->stop_ids.items[i]);
            return EXIT_USAGE;
        }
        lists->stop_ids[i] = (uint32_t)id;
    }
    g->sampling.biases = lists->biases;
    g->sampling.n_biases = s->biases.count;
    g->stop_ids = lists->stop_ids;
    g->n_stop_ids = s->stop_ids.count;
    for (size_t i = 0; i < s->stops.count; i++) {
        if (!*s->stops.items[i]) return fail_text(command, "--stop is empty"), EXIT_USAGE;
        lists->stops[i] = (power_stop_text){s->stops.items[i], strlen(s->stops.items[i])};
    }
    g->stops = lists->stops;
    g->n_stops = s->stops.count;
    return -1;
}

int apply_sampling(const char *command, const struct sampling_args *s, const power_model *model,
                   struct sampling_lists *lists, power_generate_options *g) {
    power_error error = {.offset = POWER_NO_OFFSET};
    if (power_model_sampling(model, &g->sampling, &error)) return fail_with(command, &error);
    if (s->temperature > 0.0f && s->temperature < 1e-4f) {
        fail_text(command, "wrong value %g for --temperature, the smallest but 0 is 0.0001",
                  (double)s->temperature);
        return EXIT_USAGE;
    }
    if (!isnan(s->temperature)) g->sampling.temperature = s->temperature;
    if (s->top_k != UINT32_MAX) g->sampling.top_k = s->top_k;
    if (!isnan(s->top_p)) g->sampling.top_p = s->top_p;
    if (!isnan(s->min_p)) g->sampling.min_p = s->min_p;
    if (!isnan(s->repetition)) g->sampling.repetition_penalty = s->repetition;
    if (!isnan(s->presence)) g->sampling.presence_penalty = s->presence;
    if (!isnan(s->frequency)) g->sampling.frequency_penalty = s->frequency;
    g->max_tokens = s->max_tokens;
    g->ignore_end_tokens = s->ignore_end;
    g->show_special = s->special;
    int rc = s->seed ? parse_seed(command, s->seed, &g->sampling.seed) : -1;
    return rc >= 0 ? rc : apply_lists(command, s, lists, g);
}

/* ---- text ---- */

int read_text(const char *command, const char *path, char **out, size_t *out_bytes) {
    bool is_stdin = !strcmp(path, "-");
    FILE *file = is_stdin ? stdin : fopen(path, "rb");
    if (!file) return fail_text(command, "cannot open \"%s\": %s", path, strerror(errno));
    size_t length = 0, capacity = 1 << 16;
    char *text = malloc(capacity + 1);
    while (text) {
        length += fread(text + length, 1, capacity - length, file);
        if (length < capacity || capacity > TEXT_MAX) break;
        char *more = realloc(text, 2 * capacity + 1);
        if (!more) free(text);
        text = more;
        capacity *= 2;
    }
    int fault = ferror(file) ? errno : 0;
    if (!is_stdin) fclose(file);
    if (text && !fault && length <= TEXT_MAX) {
        text[length] = 0;
        *out = text;
        *out_bytes = length;
        return -1;
    }
    free(text);
    if (interrupted()) return EXIT_INTERRUPTED;
    if (fault) return fail_text(command, "cannot read \"%s\": %s", path, strerror(fault));
    return text ? fail_text(command, "\"%s\" has more than %zu bytes", path, TEXT_MAX)
                : fail_text(command, "out of memory for \"%s\"", path);
}

int tokenize_text(const char *command, const power_model *model, const char *text, size_t bytes,
                  int add_special, int parse_special, uint32_t **out, size_t *out_count) {
    power_error error = {.offset = POWER_NO_OFFSET};
    size_t capacity = bytes + 16;
    uint32_t *ids = malloc(capacity * sizeof *ids);
    if (!ids) return fail_text(command, "out of memory for %zu tokens", capacity);
    power_status status = power_tokenize(model, text, bytes, add_special, parse_special, ids,
                                         capacity, out_count, &error);
    if (status == POWER_LIMIT) {
        uint32_t *more = realloc(ids, *out_count * sizeof *ids);
        if (!more) return free(ids), fail_text(command, "out of memory for %zu tokens", *out_count);
        ids = more;
        status = power_tokenize(model, text, bytes, add_special, parse_special, ids, *out_count,
                                out_count, &error);
    }
    if (status) return free(ids), fail_with(command, &error);
    *out = ids;
    return -1;
}

int render_messages(const char *command, const power_model *model, const power_message *messages,
                    size_t count, char **out, size_t *out_bytes) {
    power_error error = {.offset = POWER_NO_OFFSET};
    size_t capacity = 4096;
    for (size_t i = 0; i < count; i++)
        capacity += 2 * strlen(messages[i].content);
    char *text = malloc(capacity);
    power_status status = POWER_NO_MEMORY;
    if (text) status = power_render(model, messages, count, 1, text, capacity, out_bytes, &error);
    if (text && status == POWER_LIMIT) {
        free(text);
        capacity = *out_bytes + 1;
        text = malloc(capacity);
        if (text)
            status = power_render(model, messages, count, 1, text, capacity, out_bytes, &error);
    }
    if (!text) return fail_text(command, "out of memory for the prompt");
    if (status) return free(text), fail_with(command, &error);
    *out = text;
    return -1;
}

int render_ids(const char *command, const power_model *model, const power_message *messages,
               size_t count, uint32_t **out, size_t *out_count) {
    power_error error = {.offset = POWER_NO_OFFSET};
    power_render_options options;
    power_status status = POWER_NO_MEMORY;
    uint32_t *ids = NULL;
    power_render_options_init(&options);
    options.messages = messages;
    options.n_messages = count;
    for (size_t capacity = 1024; (ids = malloc(capacity * sizeof *ids)); capacity = *out_count) {
        *out_count = 0;
        status = power_render_tokens(model, &options, ids, capacity, out_count, &error);
        if (status != POWER_LIMIT || *out_count <= capacity) break;
        free(ids);
    }
    if (!ids) return fail_text(command, "out of memory for the prompt");
    if (status) return free(ids), fail_with(command, &error);
    *out = ids;
    return -1;
}

/* ---- output ---- */

static int output_errno; /* of the first write that failed */

bool buffer_out(const char *text, size_t bytes) {
    if (output_errno) return false;
    errno = 0;
    if (fwrite(text, 1, bytes, stdout) != bytes) output_errno = errno ? errno : EIO;
    return !output_errno;
}

bool write_out(const char *text, size_t bytes) {
    if (!buffer_out(text, bytes)) return false;
    if (fflush(stdout)) output_errno = errno ? errno : EIO;
    return !output_errno;
}

int write_failed(const char *command) {
    if (!output_errno) return -1;
    if (output_errno == EPIPE) return EXIT_FAILED;
    return fail_text(command, "cannot write the output: %s", strerror(output_errno));
}

size_t whole_characters(const char *bytes, size_t n_bytes, char *out) {
    const struct power_text text = {bytes, n_bytes};
    size_t n = 0, length;
    for (size_t at = 0; at < n_bytes; at += length) {
        bool broken = power_utf8_get(text, at, &length, NULL) == POWER_UTF8_BROKEN;
        size_t size = broken ? 3 : length;
        memcpy(out + n, broken ? "\xEF\xBF\xBD" : bytes + at, size);
        n += size;
    }
    return n;
}

json_t *json_text(const char *bytes, size_t length) {
    json_t *value = json_stringn(bytes, length);
    if (value) return value;
    char *clean = malloc(3 * length + 1);
    value = clean ? json_stringn(clean, whole_characters(bytes, length, clean)) : NULL;
    free(clean);
    return value;
}

json_t *json_bytes(const char *bytes, size_t length) {
    json_t *list = json_array();
    for (size_t i = 0; i < length; i++)
        json_array_append_new(list, json_integer((unsigned char)bytes[i]));
    return list;
}

int print_json(const char *command, json_t *value) {
    char *text = value ? json_dumps(value, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(value);
    if (!text) return fail_text(command, "out of memory for the output");
    bool written = write_out(text, strlen(text)) && write_out("\n", 1);
    free(text);
    return written ? EXIT_OK : write_failed(command);
}

const char *finish_text(power_finish finish) {
    switch (finish) {
    case POWER_FINISH_STOP:
        return "stop";
    case POWER_FINISH_LENGTH:
        return "length";
    case POWER_FINISH_CONTEXT:
        return "context";
    case POWER_FINISH_CALLBACK:
        return "callback";
    }
    return "?";
}

bool use_colour(void) {
    const char *no = getenv("NO_COLOR");
    return isatty(STDOUT_FILENO) && !(no && *no);
}
