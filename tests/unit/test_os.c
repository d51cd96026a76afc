/* SPDX-License-Identifier: MIT */
/* os: files, mappings, the bus guard, threads, clocks, processors, control groups.
 * Input: a temporary folder. Output: pass or fail.
 * Threads: up to five. Bounds: files of 1 MiB, waits of 10 s at most. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/cgroup.h"
#include "os/os.h"

static char folder[] = "/tmp/power-test-os-XXXXXX";
static const power_allocator *const standard = &power_default_allocator;

/* A path in the temporary folder; four at a time. */
static const char *in_folder(const char *name) {
    static char paths[4][256];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void write_file(const char *path, const void *bytes, size_t length) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static void write_text(const char *name, const char *text) {
    write_file(in_folder(name), text, strlen(text));
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

/* ---- files ---- */

static void refuse(const char *path, power_status wanted, const char *words) {
    struct power_file file;
    power_error error = {0};
    assert_int_equal(power_file_open(&file, path, &error), wanted);
    if (!strstr(error.message, words)) fail_msg("%s", error.message);
    assert_null(strstr(error.message, "/tmp"));
}

static void test_file_kinds(void **state) {
    (void)state;
    refuse(in_folder("absent"), POWER_NOT_FOUND, "cannot open \"absent\"");
    refuse(folder, POWER_INVALID, "a directory");
    refuse("/dev/null", POWER_INVALID, "\"null\" is a device");
    assert_int_equal(mkfifo(in_folder("fifo"), 0600), 0);
    refuse(in_folder("fifo"), POWER_INVALID, "a pipe"); /* and returns at once */
    write_text("plain", "0123456789");
    refuse(in_folder("plain/below"), POWER_NOT_FOUND, "below");
    struct power_file file;
    assert_int_equal(power_file_open(&file, in_folder("plain"), NULL), POWER_OK);
    assert_int_equal(file.size_bytes, 10);
    assert_true(fcntl(file.fd, F_GETFD) & FD_CLOEXEC);
    power_file_close(&file);
    assert_int_equal(file.fd, -1);
    power_file_close(&file);
}

static void test_file_read(void **state) {
    (void)state;
    write_text("read", "0123456789");
    struct power_file file;
    char bytes[16] = {0};
    power_error error = {0};
    assert_int_equal(power_file_open(&file, in_folder("read"), NULL), POWER_OK);
    assert_int_equal(power_file_read(&file, 3, bytes, 7, NULL), POWER_OK);
    assert_string_equal(bytes, "3456789");
    assert_int_equal(power_file_read(&file, 10, bytes, 0, NULL), POWER_OK);
    assert_int_equal(power_file_read(&file, 8, bytes, 3, &error), POWER_CHANGED);
    assert_int_equal(error.offset, 10);
    assert_int_equal(power_file_read(&file, UINT64_MAX, bytes, 3, &error), POWER_INVALID);
    struct power_file_identity before, after;
    assert_int_equal(power_file_identity(&file, &before, NULL), POWER_OK);
    assert_int_equal(before.size_bytes, 10);
    assert_int_equal(truncate(in_folder("read"), 5), 0);
    assert_int_equal(power_file_identity(&file, &after, NULL), POWER_OK);
    assert_int_equal(after.size_bytes, 5);
    assert_int_equal(after.inode, before.inode);
    power_file_close(&file);
}

static void test_file_load(void **state) {
    (void)state;
    struct power_arena arena;
    struct power_text text = {0};
    power_error error = {0};
    power_arena_init(&arena, standard, 4096);
    write_text("load", "some text");
    assert_int_equal(power_file_load(&arena, in_folder("load"), 9, &text, NULL), POWER_OK);
    assert_int_equal(text.length, 9);
    assert_string_equal(text.bytes, "some text");
    assert_int_equal(power_file_load(&arena, in_folder("load"), 8, &text, &error), POWER_LIMIT);
    assert_non_null(strstr(error.message, "9 bytes, the limit is 8"));
    write_text("load-empty", "");
    assert_int_equal(power_file_load(&arena, in_folder("load-empty"), 8, &text, NULL), POWER_OK);
    assert_int_equal(text.length, 0);
    assert_string_equal(text.bytes, "");
    arena.max_bytes = arena.used_bytes;
    assert_int_equal(power_file_load(&arena, in_folder("load"), 9, &text, NULL), POWER_NO_MEMORY);
    power_arena_finish(&arena);
}

static unsigned count_entries(const char *path) {
    unsigned n = 0;
    DIR *dir = opendir(path);
    assert_non_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir));) {
        n += entry->d_name[0] != '.';
    }
    closedir(dir);
    return n;
}

static void read_whole(const char *path, struct power_arena *arena, struct power_text *out) {
    assert_int_equal(power_file_load(arena, path, 4 << 20, out, NULL), POWER_OK);
}

/* A reader that looks all the time sees one whole content or the other. */
static void test_replace(void **state) {
    (void)state;
    enum { LENGTH = 300000, ROUNDS = 30 };
    static char content[2][LENGTH];
    memset(content[0], 'a', LENGTH);
    memset(content[1], 'b', LENGTH);
    assert_int_equal(power_directory_make(in_folder("replace/deep"), NULL), POWER_OK);
    assert_int_equal(power_directory_make(in_folder("replace/deep/"), NULL), POWER_OK);
    const char *path = in_folder("replace/deep/file");
    assert_int_equal(power_file_replace(path, content[0], LENGTH, NULL), POWER_OK);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        for (int i = 1; i <= ROUNDS; i++) {
            if (power_file_replace(path, content[i % 2], LENGTH, NULL) != POWER_OK) _exit(1);
        }
        _exit(0);
    }
    int status = -1;
    while (waitpid(child, &status, WNOHANG) == 0) {
        struct power_arena arena;
        struct power_text text;
        power_arena_init(&arena, standard, 1 << 20);
        read_whole(path, &arena, &text);
        assert_int_equal(text.length, LENGTH);
        assert_int_equal(text.bytes[0], text.bytes[LENGTH - 1]);
        power_arena_finish(&arena);
    }
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(count_entries(in_folder("replace/deep")), 1);
}

static void test_replace_fails(void **state) {
    (void)state;
    power_error error = {0};
    assert_int_equal(power_file_replace(in_folder("none/file"), "x", 1, &error), POWER_NOT_FOUND);
    assert_int_equal(mkdir(in_folder("taken"), 0700), 0);
    assert_int_equal(mkdir(in_folder("taken/file"), 0700), 0);
    assert_int_equal(power_file_replace(in_folder("taken/file"), "x", 1, &error), POWER_IO);
    assert_int_equal(count_entries(in_folder("taken")), 1);
    write_text("in-the-way", "");
    assert_int_not_equal(power_directory_make(in_folder("in-the-way/x"), &error), POWER_OK);
    assert_int_equal(power_directory_make("", &error), POWER_INVALID);
    assert_true(power_path_exists(in_folder("in-the-way")));
    assert_false(power_path_exists(in_folder("nothing")));
    assert_true(power_path_is_directory(folder));
    assert_false(power_path_is_directory(in_folder("in-the-way")));
}

static void test_cache_path(void **state) {
    (void)state;
    char path[128];
    power_error error = {0};
    setenv("XDG_CACHE_HOME", "/x/cache", 1);
    assert_int_equal(power_cache_path(path, sizeof path, "models", NULL), POWER_OK);
    assert_string_equal(path, "/x/cache/power/models");
    assert_int_equal(power_cache_path(path, 21, "models", &error), POWER_LIMIT);
    setenv("XDG_CACHE_HOME", "relative", 1);
    setenv("HOME", "/home/someone", 1);
    assert_int_equal(power_cache_path(path, sizeof path, "models", NULL), POWER_OK);
    assert_string_equal(path, "/home/someone/.cache/power/models");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    assert_int_equal(power_cache_path(path, sizeof path, "models", &error), POWER_NOT_FOUND);
}

/* ---- mappings ---- */

static void test_map(void **state) {
    (void)state;
    struct power_file file;
    struct power_mapping mapping;
    write_text("map", "mapped");
    assert_int_equal(power_file_open(&file, in_folder("map"), NULL), POWER_OK);
    assert_int_equal(power_map_file(&mapping, &file, NULL), POWER_OK);
    assert_int_equal(mapping.length, 6);
    assert_memory_equal(mapping.bytes, "mapped", 6);
    power_unmap(&mapping);
    power_file_close(&file);
    assert_null(mapping.bytes);
    power_unmap(&mapping);
    write_text("map-empty", "");
    assert_int_equal(power_file_open(&file, in_folder("map-empty"), NULL), POWER_OK);
    assert_int_equal(power_map_file(&mapping, &file, NULL), POWER_OK);
    assert_int_equal(mapping.length, 0);
    power_unmap(&mapping);
    power_file_close(&file);
}

static void test_pages(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 1, 4096, 4097, 2 << 20, (5 << 20) + 1};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        void *pages = NULL;
        assert_int_equal(power_pages_alloc(&pages, sizes[i], NULL), POWER_OK);
        assert_int_equal((uintptr_t)pages % 4096, 0);
        unsigned char *bytes = pages;
        for (size_t j = 0; j < sizes[i]; j += 1000) {
            assert_int_equal(bytes[j], 0);
        }
        memset(bytes, 1, sizes[i]);
        power_pages_free(pages, sizes[i]);
    }
    void *pages = NULL;
    power_error error = {0};
    assert_int_equal(power_pages_alloc(&pages, SIZE_MAX, &error), POWER_NO_MEMORY);
    assert_int_equal(power_pages_alloc(&pages, SIZE_MAX / 2, &error), POWER_NO_MEMORY);
    assert_null(pages);
    power_pages_free(NULL, 10);
}

/* Runs in a child, because the guard stays once it is installed. Exit status 0: as expected. */
static int read_after_truncation(void) {
    enum { PAGES = 16 };
    static char content[PAGES * 4096];
    _Atomic(int) flag = 0;
    struct power_file file;
    struct power_mapping mapping;
    power_error error;
    memset(content, 'x', sizeof content);
    write_file(in_folder("guarded"), content, sizeof content);
    if (power_bus_guard_installed()) return 1;
    if (power_bus_guard_install(&error) || power_bus_guard_install(&error)) return 2;
    if (!power_bus_guard_installed()) return 3;
    if (power_file_open(&file, in_folder("guarded"), &error)) return 4;
    if (power_map_file(&mapping, &file, &error)) return 5;
    if (power_bus_guard_add(&mapping, &flag, &error)) return 6;
    if (truncate(in_folder("guarded"), 4096) != 0) return 7;
    const volatile unsigned char *bytes = mapping.bytes;
    if (bytes[100] != 'x' || atomic_load(&flag) != 0) return 8;
    if (bytes[8 * 4096 + 5] != 0 || atomic_load(&flag) != 1) return 9;
    if (bytes[15 * 4096] != 0 || bytes[2 * 4096] != 0 || bytes[100] != 'x') return 10;
    power_bus_guard_remove(&mapping);
    power_unmap(&mapping);
    power_file_close(&file);
    return 0;
}

static int run_child(int (*body)(void)) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) _exit(body());
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void test_guard(void **state) {
    (void)state;
    int status = run_child(read_after_truncation);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void earlier_handler(int number) {
    _exit(number == SIGBUS ? 42 : 1);
}

/* A fault outside the guarded mappings goes to the handler that was there. */
static int fault_elsewhere(void) {
    struct power_file file;
    struct power_mapping mapping;
    char page[4096] = {0};
    signal(SIGBUS, earlier_handler);
    if (power_bus_guard_install(NULL)) return 2;
    write_file(in_folder("unguarded"), page, sizeof page);
    if (power_file_open(&file, in_folder("unguarded"), NULL)) return 3;
    if (power_map_file(&mapping, &file, NULL)) return 4;
    if (truncate(in_folder("unguarded"), 0) != 0) return 5;
    return ((const volatile unsigned char *)mapping.bytes)[0] + 6;
}

/* Without an earlier handler, a signal sent by somebody ends the process as usual. */
static int sent_signal(void) {
    signal(SIGBUS, SIG_DFL); /* a sanitizer may have put one */
    if (power_bus_guard_install(NULL)) return 2;
    raise(SIGBUS);
    return 3;
}

static void test_guard_chain(void **state) {
    (void)state;
    int status = run_child(fault_elsewhere);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 42);
    status = run_child(sent_signal);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGBUS);
}

static int fill_guard(void) {
    static _Atomic(int) flag;
    static unsigned char pages[257];
    power_error error = {0};
    for (int i = 0; i < 256; i++) {
        struct power_mapping one = {&pages[i], 1};
        if (power_bus_guard_add(&one, &flag, &error)) return 1;
    }
    struct power_mapping last = {&pages[256], 1};
    if (power_bus_guard_add(&last, &flag, &error) != POWER_LIMIT) return 2;
    struct power_mapping freed = {&pages[7], 1};
    power_bus_guard_remove(&freed);
    return power_bus_guard_add(&last, &flag, &error) ? 3 : 0;
}

static void test_guard_limit(void **state) {
    (void)state;
    assert_int_equal(run_child(fill_guard), 0);
}

/* ---- threads ---- */

struct shared {
    struct power_mutex *mutex;
    struct power_cond *cond;
    int count;
    _Atomic(uint32_t) word;
};

static void add_many(void *argument) {
    struct shared *shared = argument;
    for (int i = 0; i < 10000; i++) {
        power_mutex_lock(shared->mutex);
        shared->count++;
        power_mutex_unlock(shared->mutex);
    }
    power_mutex_lock(shared->mutex);
    power_cond_signal(shared->cond);
    power_mutex_unlock(shared->mutex);
}

static void test_threads(void **state) {
    (void)state;
    struct shared shared = {0};
    struct power_thread *threads[4];
    assert_int_equal(power_mutex_create(&shared.mutex, standard, NULL), POWER_OK);
    assert_int_equal(power_cond_create(&shared.cond, standard, NULL), POWER_OK);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(power_thread_start(&threads[i], standard, "a-name-that-is-long", add_many,
                                            &shared, NULL),
                         POWER_OK);
    }
    power_mutex_lock(shared.mutex);
    while (shared.count < 40000) {
        power_cond_wait(shared.cond, shared.mutex);
    }
    power_mutex_unlock(shared.mutex);
    for (int i = 0; i < 4; i++) {
        power_thread_join(threads[i]);
    }
    power_thread_join(NULL);
    power_cond_destroy(shared.cond);
    power_mutex_destroy(shared.mutex);
    power_cond_destroy(NULL);
    power_mutex_destroy(NULL);
}

static void wait_word(void *argument) {
    struct shared *shared = argument;
    while (atomic_load(&shared->word) == 0) {
        power_futex_wait(&shared->word, 0);
    }
    sigset_t masked;
    sigprocmask(SIG_SETMASK, NULL, &masked);
    shared->count = sigismember(&masked, SIGINT) && !sigismember(&masked, SIGBUS);
}

static void test_futex(void **state) {
    (void)state;
    struct shared shared = {0};
    struct power_thread *thread = NULL;
    assert_int_equal(power_thread_start(&thread, standard, "waits", wait_word, &shared, NULL),
                     POWER_OK);
    power_futex_wait(&shared.word, 1); /* not equal: returns at once */
    power_cpu_relax();
    atomic_store(&shared.word, 1);
    power_futex_wake_all(&shared.word);
    power_thread_join(thread);
    assert_int_equal(shared.count, 1); /* library threads leave SIGINT to the program */
}

/* ---- machine ---- */

static void test_machine(void **state) {
    (void)state;
    uint64_t before = power_clock_ns();
    assert_true(power_clock_ns() >= before);
    assert_true(power_memory_total() > (uint64_t)64 << 20);
    assert_in_range(power_memory_resident(), 1 << 16, power_memory_total() * 2);
    assert_true(power_memory_peak() >= 1 << 16);
    unsigned char a[40] = {0}, b[40] = {0};
    assert_int_equal(power_random_bytes(a, sizeof a, NULL), POWER_OK);
    assert_int_equal(power_random_bytes(b, sizeof b, NULL), POWER_OK);
    assert_memory_not_equal(a, b, sizeof a);
}

static int count_on_one_cpu(void) {
    cpu_set_t set, one;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return 100;
    CPU_ZERO(&one);
    for (size_t i = 0; i < CPU_SETSIZE; i++) {
        if (!CPU_ISSET(i, &set)) continue;
        CPU_SET(i, &one);
        break;
    }
    if (sched_setaffinity(0, sizeof one, &one) != 0) return 101;
    return (int)power_usable_cpus();
}

static void test_affinity(void **state) {
    (void)state;
    cpu_set_t set;
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    assert_in_range(power_usable_cpus(), 1, CPU_COUNT(&set));
    int status = run_child(count_on_one_cpu);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1);
}

static struct power_cgroup_limits read_groups(void) {
    return power_cgroup_read(in_folder("membership"), in_folder("groups"));
}

static void test_cgroup_2(void **state) {
    (void)state;
    assert_int_equal(power_directory_make(in_folder("groups/a/b"), NULL), POWER_OK);
    write_text("membership", "0::/a/b\n");
    assert_true(read_groups().cpus == UINT64_MAX);
    assert_true(read_groups().memory_bytes == UINT64_MAX);
    write_text("groups/a/b/cpu.max", "max 100000\n");
    write_text("groups/a/b/memory.max", "max\n");
    assert_true(read_groups().cpus == UINT64_MAX);
    assert_true(read_groups().memory_bytes == UINT64_MAX);
    write_text("groups/a/b/cpu.max", "250000 100000\n");
    assert_int_equal(read_groups().cpus, 3);
    write_text("groups/a/cpu.max", "200000 100000\n");
    write_text("groups/a/memory.max", "1073741824\n");
    assert_int_equal(read_groups().cpus, 2);
    assert_int_equal(read_groups().memory_bytes, 1073741824);
    write_text("groups/cpu.max", "5000 100000\n");
    assert_int_equal(read_groups().cpus, 1);
    /* A group that is not mounted here: what is above it still counts. */
    write_text("membership", "0::/elsewhere/deep\n");
    assert_int_equal(read_groups().cpus, 1);
    write_text("membership", "0::/../..\nnonsense\n");
    assert_true(read_groups().cpus == UINT64_MAX);
}

static void test_cgroup_1(void **state) {
    (void)state;
    assert_int_equal(power_directory_make(in_folder("groups/cpu,cpuacct/x"), NULL), POWER_OK);
    assert_int_equal(power_directory_make(in_folder("groups/memory/x"), NULL), POWER_OK);
    write_text("membership", "4:cpu,cpuacct:/x\n3:memory:/x\n2:cpuset:/x\n");
    write_text("groups/cpu,cpuacct/x/cpu.cfs_quota_us", "-1\n");
    write_text("groups/cpu,cpuacct/x/cpu.cfs_period_us", "100000\n");
    assert_true(read_groups().cpus == UINT64_MAX);
    write_text("groups/cpu,cpuacct/x/cpu.cfs_quota_us", "350000\n");
    write_text("groups/memory/x/memory.limit_in_bytes", "5000000\n");
    assert_int_equal(read_groups().cpus, 4);
    assert_int_equal(read_groups().memory_bytes, 5000000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file_kinds),    cmocka_unit_test(test_file_read),
        cmocka_unit_test(test_file_load),     cmocka_unit_test(test_replace),
        cmocka_unit_test(test_replace_fails), cmocka_unit_test(test_cache_path),
        cmocka_unit_test(test_map),           cmocka_unit_test(test_pages),
        cmocka_unit_test(test_guard),         cmocka_unit_test(test_guard_chain),
        cmocka_unit_test(test_guard_limit),   cmocka_unit_test(test_threads),
        cmocka_unit_test(test_futex),         cmocka_unit_test(test_machine),
        cmocka_unit_test(test_affinity),      cmocka_unit_test(test_cgroup_2),
        cmocka_unit_test(test_cgroup_1),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
