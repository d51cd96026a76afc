/* SPDX-License-Identifier: MIT */
/* The runtime: limits, device, callbacks. Everything else is opened from one.
 * Handles are opaque. Option structs start with struct_size and are filled by their _init function.
 * Threads: a runtime may be used from any thread; close it after everything opened from it.
 * Fork: after fork() the child may only call exec or _exit; handles do not survive a fork. */
#ifndef POWER_RUNTIME_H
#define POWER_RUNTIME_H

#include "power/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct power_runtime power_runtime;

typedef enum power_device_kind {
    POWER_DEVICE_AUTO = 0, /* best present; what was chosen is said by power_runtime_device */
    POWER_DEVICE_CPU = 1
} power_device_kind;

typedef struct power_runtime_options {
    size_t struct_size;
    power_device_kind device;  /* default AUTO */
    uint32_t threads;          /* 0: the processors this process may use (affinity, cgroup quota) */
    uint32_t cpu_mask;         /* bits allowed, see power_cpu_mask_parse; default UINT32_MAX */
    uint64_t max_memory_bytes; /* state, scratch and packed weights together; 0: physical memory */
    uint64_t max_file_bytes;   /* largest model file accepted; 0: no limit */
    /* Installs a SIGBUS handler that turns a mapped file's loss into an error of its model. Off by
     * default: without it model files are read, not mapped. */
    int guard_mapped_files;
    power_log_fn log; /* may be NULL */
    void *log_context;
    power_log_level log_level;        /* default POWER_LOG_WARNING */
    const power_allocator *allocator; /* borrowed for the runtime's life; NULL: malloc */
} power_runtime_options;

POWER_API void power_runtime_options_init(power_runtime_options *options);

/* options may be NULL: defaults. On success *out_runtime is owned by the caller.
 * POWER_INVALID (an option out of range), POWER_UNSUPPORTED (device absent), POWER_NO_MEMORY. */
POWER_API POWER_MUST_USE power_status power_runtime_open(const power_runtime_options *options,
                                                         power_runtime **out_runtime,
                                                         power_error *error);
/* NULL is allowed. */
POWER_API void power_runtime_close(power_runtime *runtime);

/* One line on the device in use, e.g. "cpu avx512-vnni, 2 threads"; lives as long as the runtime.
 */
POWER_API const char *power_runtime_device(const power_runtime *runtime);

/* "all", "none" or names joined by commas or plus signs: avx2, avx512, vnni, neon,
 * dotprod, i8mm. POWER_INVALID names the word that is not known. */
POWER_API POWER_MUST_USE power_status power_cpu_mask_parse(const char *text, uint32_t *out_mask,
                                                           power_error *error);

/* Number of model architectures supported, and the name of each (static storage; NULL beyond). */
POWER_API uint32_t power_architecture_count(void);
POWER_API const char *power_architecture_name(uint32_t index);

#ifdef __cplusplus
}
#endif
#endif
