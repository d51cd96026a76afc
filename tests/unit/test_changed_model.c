/* SPDX-License-Identifier: MIT */
/* A model file that changes while it is in use: POWER_CHANGED, never a crash, never an answer from
 * other bytes; a file that is replaced or removed stays usable. With mapped files (the guard
 * against SIGBUS) and without. Input: a tiny model, copied. Output: cmocka's verdict.
 * Threads: one, and the engine's. Bounds: one model of 270 KB at a time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "power/power.h"

#define TOKENS 60u /* more than the engine runs ahead of the callback */
#define CHANGE_AT 4u
#define SOURCE POWER_TEST_DATA "/tiny-models/qwen2/model.gguf"

enum change { CHANGE_NOTHING, TRUNCATE, TRUNCATE_A_PAGE, REWRITE, RESTORE, REPLACE, REMOVE };

struct run {
    power_runtime *runtime;
    power_model *model;
    power_session *session;
    char path[96], other[112];
    enum change change;
    uint32_t ids[TOKENS];
    size_t n_ids;
};

/* ---- the file ---- */

/* Written in the past: a change right after the opening has another time. */
static void age(const char *path) {
    const struct timespec times[2] = {{.tv_sec = 1700000000}, {.tv_sec = 1700000000}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void copy_to(const char *path) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    FILE *from = fopen(SOURCE, "rb");
    assert_true(fd >= 0 && from);
    char buffer[4096];
    for (size_t n; (n = fread(buffer, 1, sizeof buffer, from)) > 0;)
        assert_int_equal(write(fd, buffer, n), (ssize_t)n);
    fclose(from);
    close(fd);
    age(path);
}

static void copy_model(struct run *r) {
    const char *tmp = getenv("TMPDIR");
    snprintf(r->path, sizeof r->path, "%.60s/power-changed-XXXXXX", tmp ? tmp : "/tmp");
    int fd = mkstemp(r->path);
    assert_true(fd >= 0);
    close(fd);
    snprintf(r->other, sizeof r->other, "%s-new", r->path);
    copy_to(r->path);
}

static void set_length(const char *path, off_t bytes) {
    assert_int_equal(truncate(path, bytes), 0);
}

/* Other values over the second half of the file, of the same length. */
static void rewrite(const char *path) {
    struct stat facts;
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0 && fstat(fd, &facts) == 0);
    for (off_t at = facts.st_size / 2; at < facts.st_size; at++)
        assert_int_equal(pwrite(fd, "\x11", 1, at), 1);
    close(fd);
}

static void apply(struct run *r) {
    struct stat facts;
    assert_int_equal(stat(r->path, &facts), 0);
    switch (r->change) {
    case TRUNCATE:
        set_length(r->path, 0);
        break;
    case TRUNCATE_A_PAGE:
        set_length(r->path, facts.st_size - 4096);
        break;
    case REWRITE:
        rewrite(r->path);
        break;
    case REPLACE:
        copy_to(r->other);
        rewrite(r->other);
        assert_int_equal(rename(r->other, r->path), 0);
        break;
    case REMOVE:
        assert_int_equal(unlink(r->path), 0);
        break;
    case RESTORE: /* at its old length and time again, with zeros */
        set_length(r->path, 4096);
        set_length(r->path, facts.st_size);
        break;
    case CHANGE_NOTHING:
        break;
    }
}

/* ---- the model ---- */

static int on_delta(void *context, const power_delta *delta) {
    struct run *r = context;
    if (r->n_ids < TOKENS) r->ids[r->n_ids++] = delta->id;
    if (r->n_ids == CHANGE_AT) apply(r);
    return 0;
}

static void open_run(struct run *r, int guard, int no_pack) {
    power_runtime_options ro;
    power_model_options mo;
    power_session_options so;
    power_error error = {0};
    power_runtime_options_init(&ro);
    ro.threads = 2;
    ro.guard_mapped_files = guard;
    power_model_options_init(&mo);
    mo.verify = POWER_VERIFY_NEVER;
    mo.no_pack = no_pack;
    power_session_options_init(&so);
    so.context = 128;
    copy_model(r);
    if (power_runtime_open(&ro, &r->runtime, &error) ||
        power_model_open(r->runtime, r->path, &mo, &r->model, &error) ||
        power_session_open(r->model, &so, &r->session, &error))
        fail_msg("%s", error.message);
}

static void close_run(struct run *r) {
    power_session_close(r->session);
    power_model_close(r->model);
    power_runtime_close(r->runtime);
    unlink(r->path);
    unlink(r->other);
}

static power_status generate(struct run *r, power_error *error) {
    static const uint32_t prompt[] = {10, 20, 30};
    power_generate_options g;
    power_generate_options_init(&g);
    g.ids = prompt;
    g.n_ids = 3;
    g.max_tokens = TOKENS;
    g.ignore_end_tokens = 1;
    g.sampling.temperature = 0.0f;
    g.on_delta = on_delta;
    g.context = r;
    power_generate_result result = {.struct_size = sizeof result};
    return power_generate(r->session, &g, &result, error);
}

static void check_changed(power_status status, const power_error *error) {
    if (status != POWER_CHANGED)
        fail_msg("%s, want %s", power_status_text(status), power_status_text(POWER_CHANGED));
    assert_int_equal(error->status, POWER_CHANGED);
    assert_non_null(strstr(error->message, "power-changed-"));
    assert_null(strchr(error->message, '/'));
}

/* After the change: this session, a new one, another kind of KV and another model. */
static void check_after(struct run *r, int guard) {
    static const uint32_t id = 7;
    uint32_t row = 0, length = power_session_length(r->session);
    float *logits = malloc(sizeof *logits * 4096);
    power_error error = {0};
    check_changed(power_session_evaluate(r->session, &id, 1, &row, 1, logits, &error), &error);
    assert_int_equal(power_session_length(r->session), length);
    power_session_options so;
    power_session_options_init(&so);
    so.context = 128;
    for (int kv = POWER_KV_F16; kv <= POWER_KV_F32; kv++) {
        power_session *session = NULL;
        so.kv_type = (power_kv_type)kv;
        power_status status = power_session_open(r->model, &so, &session, &error);
        if (status == POWER_OK)
            status = power_session_evaluate(session, &id, 1, &row, 1, logits, &error);
        check_changed(status, &error);
        power_session_close(session);
    }
    free(logits);
    struct run fresh = {.change = CHANGE_NOTHING};
    open_run(&fresh, guard, 0);
    assert_int_equal(generate(&fresh, &error), POWER_OK);
    close_run(&fresh);
}

static void run_change(enum change change, int guard, int no_pack, int stays) {
    struct run usual = {.change = CHANGE_NOTHING}, r = {.change = change};
    power_error error = {0};
    open_run(&usual, guard, no_pack);
    assert_int_equal(generate(&usual, &error), POWER_OK);
    assert_int_equal(usual.n_ids, TOKENS);
    close_run(&usual);
    open_run(&r, guard, no_pack);
    power_status status = generate(&r, &error);
    if (stays) {
        if (status != POWER_OK) fail_msg("%s", error.message);
        assert_int_equal(r.n_ids, TOKENS);
    } else {
        check_changed(status, &error);
        /* The kernels met the hole: this is what the guard is for. */
        if (guard && no_pack && change == TRUNCATE) assert_non_null(strstr(error.message, "lost"));
        assert_in_range(r.n_ids, CHANGE_AT, TOKENS - 1);
        check_after(&r, guard);
    }
    /* What was answered before is from the model's own bytes. */
    assert_memory_equal(r.ids, usual.ids, r.n_ids * sizeof *r.ids);
    close_run(&r);
}

static void all_changes(int guard) {
    for (int no_pack = 0; no_pack < 2; no_pack++) {
        run_change(TRUNCATE, guard, no_pack, 0);
        run_change(TRUNCATE_A_PAGE, guard, no_pack, 0);
        run_change(REWRITE, guard, no_pack, 0);
        run_change(RESTORE, guard, no_pack, 0);
        run_change(REPLACE, guard, no_pack, 1);
        run_change(REMOVE, guard, no_pack, 1);
    }
}

/* First: no handler may be there. */
static void test_read(void **state) {
    (void)state;
    struct sigaction before, now;
    assert_int_equal(sigaction(SIGBUS, NULL, &before), 0);
    all_changes(0);
    assert_int_equal(sigaction(SIGBUS, NULL, &now), 0);
    assert_true(now.sa_handler == before.sa_handler);
}

static void test_mapped(void **state) {
    (void)state;
    all_changes(1);
}

/* Gone while it is being opened: the size at the opening is not there any more. */
static int cut_while_loading(void *context, double done) {
    (void)done;
    set_length(context, 4096);
    return 0;
}

static void test_while_loading(void **state) {
    (void)state;
    for (int guard = 0; guard < 2; guard++) {
        struct run r = {0};
        power_runtime_options ro;
        power_model_options mo;
        power_error error = {0};
        copy_model(&r);
        power_runtime_options_init(&ro);
        ro.threads = 1;
        ro.guard_mapped_files = guard;
        power_model_options_init(&mo);
        mo.verify = POWER_VERIFY_NEVER;
        mo.progress = cut_while_loading;
        mo.progress_context = r.path;
        assert_int_equal(power_runtime_open(&ro, &r.runtime, &error), POWER_OK);
        power_status status = power_model_open(r.runtime, r.path, &mo, &r.model, &error);
        if (status == POWER_OK) { /* the last call came after the last byte */
            status = power_session_open(r.model, NULL, &r.session, &error);
            if (status == POWER_OK) status = generate(&r, &error);
        }
        check_changed(status, &error);
        close_run(&r);
    }
}

/* The digest is that of the opened file, or an error. */
static void test_digest(void **state) {
    (void)state;
    struct run r = {0};
    char hex[65];
    power_error error = {0};
    open_run(&r, 1, 0);
    rewrite(r.path);
    check_changed(power_model_digest(r.model, hex, &error), &error);
    close_run(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_mapped),
        cmocka_unit_test(test_while_loading),
        cmocka_unit_test(test_digest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
