/* SPDX-License-Identifier: MIT */
/* The operating system in one page: files, mappings, threads, clocks, processor count, memory.
 * Input: paths and sizes from above. Output: handles, or a status with errno.
 * Threads: as said at each function. Only src/os includes system headers for these things.
 * Bounds: none of its own; callers bound sizes. */
#ifndef POWER_OS_H
#define POWER_OS_H

#include "base/memory.h"
#include "base/span.h"

/* ---- files ---- */
struct power_file {
    int fd; /* -1 when closed */
    uint64_t size_bytes;
};

/* What tells a file apart from a changed one. */
struct power_file_identity {
    uint64_t device, inode, size_bytes, links;
    int64_t mtime_s, mtime_ns, ctime_s, ctime_ns;
};

/* Regular files only; a directory, a FIFO or a device is POWER_INVALID. Read only, close-on-exec.
 */
power_status power_file_open(struct power_file *out, const char *path,
                             power_error *error) POWER_MUST_USE;
void power_file_close(struct power_file *file);
/* Reads exactly `length` bytes at `offset` or fails (POWER_CHANGED when the file is shorter now).
 */
power_status power_file_read(const struct power_file *file, uint64_t offset, void *out,
                             size_t length, power_error *error) POWER_MUST_USE;
power_status power_file_identity(const struct power_file *file, struct power_file_identity *out,
                                 power_error *error) POWER_MUST_USE;
/* Whole small file into an arena with a NUL after it; larger than max_bytes is POWER_LIMIT. */
power_status power_file_load(struct power_arena *arena, const char *path, size_t max_bytes,
                             struct power_text *out, power_error *error) POWER_MUST_USE;
/* Writes a file under a temporary name, syncs, renames: the final name never holds half a file. */
power_status power_file_replace(const char *path, const void *bytes, size_t length,
                                power_error *error) POWER_MUST_USE;
/* Makes a directory and its parents. */
power_status power_directory_make(const char *path, power_error *error) POWER_MUST_USE;
bool power_path_exists(const char *path);
bool power_path_is_directory(const char *path);
/* "${XDG_CACHE_HOME:-$HOME/.cache}/power/NAME"; POWER_NOT_FOUND when neither is set. */
power_status power_cache_path(char *out, size_t capacity, const char *name,
                              power_error *error) POWER_MUST_USE;

/* ---- mappings ---- */
struct power_mapping {
    const unsigned char *bytes;
    size_t length;
};
power_status power_map_file(struct power_mapping *out, const struct power_file *file,
                            power_error *error) POWER_MUST_USE;
void power_unmap(struct power_mapping *mapping);
/* Anonymous, zeroed, lazily committed pages; huge pages advised. For weights, KV pools, scratch. */
power_status power_pages_alloc(void **out, size_t bytes, power_error *error) POWER_MUST_USE;
void power_pages_free(void *pages, size_t bytes);

/* Guard against SIGBUS on mapped files, installed only when a program asks (runtime option
 * `guard_mapped_files`). A fault inside a registered mapping maps zero pages from there to its end
 * and sets *flag; any other fault goes to the handler that was there before. Up to 256 mappings. */
power_status power_bus_guard_install(power_error *error) POWER_MUST_USE;
bool power_bus_guard_installed(void);
power_status power_bus_guard_add(const struct power_mapping *mapping, _Atomic(int) *flag,
                                 power_error *error) POWER_MUST_USE;
void power_bus_guard_remove(const struct power_mapping *mapping);

/* ---- threads ---- */
struct power_thread;
struct power_mutex;
struct power_cond;
typedef void (*power_thread_fn)(void *argument);
power_status power_thread_start(struct power_thread **out, const power_allocator *allocator,
                                const char *name, power_thread_fn fn, void *argument,
                                power_error *error) POWER_MUST_USE;
void power_thread_join(struct power_thread *thread); /* frees it; NULL is allowed */
power_status power_mutex_create(struct power_mutex **out, const power_allocator *allocator,
                                power_error *error) POWER_MUST_USE;
void power_mutex_destroy(struct power_mutex *mutex);
void power_mutex_lock(struct power_mutex *mutex);
void power_mutex_unlock(struct power_mutex *mutex);
power_status power_cond_create(struct power_cond **out, const power_allocator *allocator,
                               power_error *error) POWER_MUST_USE;
void power_cond_destroy(struct power_cond *cond);
void power_cond_wait(struct power_cond *cond, struct power_mutex *mutex);
void power_cond_signal(struct power_cond *cond);
void power_cond_broadcast(struct power_cond *cond);
/* Sleeps while *word == expected, until woken; may wake for no reason. */
void power_futex_wait(const void *word, uint32_t expected);
void power_futex_wake_all(const void *word);
void power_cpu_relax(void);

/* ---- machine ---- */
uint64_t power_clock_ns(void);     /* monotonic */
unsigned power_usable_cpus(void);  /* affinity and cgroup quota (rounded up), at least 1 */
uint64_t power_memory_total(void); /* physical, or the cgroup's limit if smaller */
uint64_t power_memory_peak(void);  /* peak resident bytes of this process */
uint64_t power_memory_resident(void);
power_status power_random_bytes(void *out, size_t length, power_error *error) POWER_MUST_USE;

#endif
