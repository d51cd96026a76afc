/* SPDX-License-Identifier: MIT */
/* Writing a power_error. Input: where to write (may be NULL) and a printf message.
 * Output: the status, so that `return power_fail(...)` reads well.
 * Threads: any. Bounds: messages are cut at the 255th byte, at a UTF-8 boundary;
 * control bytes of quoted foreign text are replaced by '?' (see power_quote). */
#ifndef POWER_BASE_ERROR_H
#define POWER_BASE_ERROR_H

#include "power/status.h"

power_status power_fail(power_error *error, power_status status, const char *format, ...)
    POWER_PRINTF(3, 4);
power_status power_fail_at(power_error *error, power_status status, uint64_t offset,
                           const char *format, ...) POWER_PRINTF(4, 5);
/* Adds the text of errno `sys_errno` and records it. */
power_status power_fail_errno(power_error *error, power_status status, int sys_errno,
                              const char *format, ...) POWER_PRINTF(4, 5);
power_status power_fail_memory(power_error *error, size_t bytes, const char *what);

/* Clang's analyzer sees one file at a time: this tells it that a failure is never POWER_OK. */
#if defined(__clang_analyzer__) && !defined(POWER_ERROR_BODIES)
void power_fail_seen(const power_error *error, ...);
#define power_fail(error, status, ...) (power_fail_seen(error, __VA_ARGS__), (status))
#define power_fail_at(error, status, ...) (power_fail_seen(error, __VA_ARGS__), (status))
#define power_fail_errno(error, status, ...) (power_fail_seen(error, __VA_ARGS__), (status))
#define power_fail_memory(error, ...) (power_fail_seen(error, __VA_ARGS__), POWER_NO_MEMORY)
#endif

/* Foreign text (a key, a tensor name) made safe for a message: at most 60 bytes, control bytes and
 * broken UTF-8 replaced by '?'. Usage: power_fail(e, s, "key \"%s\": ...", power_quote(p, n).text)
 */
struct power_quoted {
    char text[64];
};
struct power_quoted power_quote(const char *text, size_t length);

#endif
