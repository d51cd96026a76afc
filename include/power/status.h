/* SPDX-License-Identifier: MIT */
/* Statuses, errors, log and allocator callbacks: what every other public header stands on.
 * Statuses are pinned numbers; a new one is only ever added at the end.
 * Every function that can fail returns a power_status and takes an optional power_error last.
 * The error is written only on failure, outputs only on success; the size needed, where a function
 * tells it, also with POWER_LIMIT.
 * Threads: everything here is safe from any thread. */
#ifndef POWER_STATUS_H
#define POWER_STATUS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define POWER_API __attribute__((visibility("default")))
#define POWER_MUST_USE __attribute__((warn_unused_result))
#define POWER_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))
#else
#define POWER_API
#define POWER_MUST_USE
#define POWER_PRINTF(fmt, first)
#endif

/* X(name, number, text) */
#define POWER_STATUS_MAP(X)                                                                        \
    X(OK, 0, "ok")                                                                                 \
    X(INVALID, 1, "invalid argument")                                                              \
    X(UNSUPPORTED, 2, "unsupported")                                                               \
    X(CORRUPT, 3, "corrupt data")                                                                  \
    X(LIMIT, 4, "limit exceeded")                                                                  \
    X(NO_MEMORY, 5, "out of memory")                                                               \
    X(IO, 6, "input/output error")                                                                 \
    X(NOT_FOUND, 7, "not found")                                                                   \
    X(CANCELLED, 8, "cancelled")                                                                   \
    X(DEADLINE, 9, "deadline passed")                                                              \
    X(OVERLOADED, 10, "overloaded")                                                                \
    X(CONTEXT_FULL, 11, "context full")                                                            \
    X(NOT_FINITE, 12, "not a finite number")                                                       \
    X(CHANGED, 13, "model file changed")                                                           \
    X(DEVICE, 14, "device error")                                                                  \
    X(STATE, 15, "wrong state for this call")                                                      \
    X(MISMATCH, 16, "digest mismatch")

typedef enum power_status {
#define POWER_STATUS_ENUM(name, number, text) POWER_##name = number,
    POWER_STATUS_MAP(POWER_STATUS_ENUM)
#undef POWER_STATUS_ENUM
} power_status;

#define POWER_NO_OFFSET UINT64_MAX

/* Detail of a failure, owned by the caller. `offset` is a byte position in the file or text at
 * fault, or POWER_NO_OFFSET. `message` is UTF-8, one line, lower case, no full stop. */
typedef struct power_error {
    power_status status;
    int sys_errno;
    uint64_t offset;
    char message[256];
} power_error;

/* Static text for a status; never NULL. */
POWER_API const char *power_status_text(power_status status);
/* Static name such as "POWER_CORRUPT"; never NULL. */
POWER_API const char *power_status_name(power_status status);

/* Version of the library as "major.minor.patch"; static storage. */
POWER_API const char *power_version(void);

typedef enum power_log_level {
    POWER_LOG_ERROR = 0,
    POWER_LOG_WARNING = 1,
    POWER_LOG_INFO = 2,
    POWER_LOG_DEBUG = 3
} power_log_level;

/* Called from any thread of the library; `message` is valid during the call only. */
typedef void (*power_log_fn)(void *context, power_log_level level, const char *message);

/* Memory source. `alloc` returns at least `bytes` aligned to `alignment` (a power of two) or NULL;
 * `release` gets the same bytes and alignment back. Both are called from any thread. */
typedef struct power_allocator {
    void *context;
    void *(*alloc)(void *context, size_t bytes, size_t alignment);
    void (*release)(void *context, void *memory, size_t bytes, size_t alignment);
} power_allocator;

#ifdef __cplusplus
}
#endif
#endif
