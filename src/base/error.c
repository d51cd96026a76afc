/* SPDX-License-Identifier: MIT */
/* Writing errors: one line of clean UTF-8 whatever foreign text went in.
 * Input: a status, a printf message. Output: the status and the caller's power_error.
 * Threads: any; nothing is shared.
 * Bounds: 255 bytes a message, 60 bytes a quoted text. */
#define POWER_ERROR_BODIES
#include "base/error.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { QUOTE_MAX = 60 };

const char *power_status_text(power_status status) {
    switch (status) {
#define STATUS_CASE(name, number, text)                                                            \
    case POWER_##name:                                                                             \
        return text;
        POWER_STATUS_MAP(STATUS_CASE)
#undef STATUS_CASE
    default:
        return "unknown status";
    }
}

const char *power_status_name(power_status status) {
    switch (status) {
#define STATUS_CASE(name, number, text)                                                            \
    case POWER_##name:                                                                             \
        return "POWER_" #name;
        POWER_STATUS_MAP(STATUS_CASE)
#undef STATUS_CASE
    default:
        return "POWER_UNKNOWN";
    }
}

/* Length of the printable character at `at`, or 0 where there is none: a control, a stray or
 * missing continuation, an overlong form, a surrogate, a value past U+10FFFF. */
static size_t character_length(const unsigned char *at, size_t left) {
    unsigned lead = at[0];
    if (lead < 0x80) return lead >= 0x20 && lead != 0x7f;
    size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || length > left) return 0;
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80) return 0;
    }
    unsigned second = at[1];
    if (lead == 0xc2 && second < 0xa0) return 0;
    if (lead == 0xe0 && second < 0xa0) return 0;
    if (lead == 0xed && second > 0x9f) return 0;
    if (lead == 0xf0 && second < 0x90) return 0;
    if (lead == 0xf4 && second > 0x8f) return 0;
    return length;
}

/* Copies whole characters while they fit; what is no printable character becomes '?'. `out` has
 * room for capacity + 1 bytes. Returns how many bytes of the input were used. */
static size_t clean_copy(char *out, size_t capacity, const char *text, size_t length) {
    const unsigned char *in = (const unsigned char *)text;
    size_t at = 0, used = 0;
    while (at < length) {
        size_t n = character_length(in + at, length - at);
        size_t width = n ? n : 1;
        if (used + width > capacity) break;
        if (n) {
            memcpy(out + used, in + at, n);
        } else {
            out[used] = '?';
        }
        used += width;
        at += width;
    }
    out[used] = '\0';
    return at;
}

POWER_PRINTF(5, 0)
static void write_error(power_error *error, power_status status, int sys_errno, uint64_t offset,
                        const char *format, va_list arguments) {
    if (!error) return;
    char raw[1024];
    int written = vsnprintf(raw, sizeof raw, format, arguments);
    size_t length = written < 0 ? 0 : (size_t)written;
    if (length >= sizeof raw) length = sizeof raw - 1;
    if (sys_errno) {
        char text[128];
        const char *words = strerror_r(sys_errno, text, sizeof text);
        int more = snprintf(raw + length, sizeof raw - length, ": %s", words);
        if (more > 0) length += (size_t)more;
        if (length >= sizeof raw) length = sizeof raw - 1;
    }
    error->status = status;
    error->sys_errno = sys_errno;
    error->offset = offset;
    clean_copy(error->message, sizeof error->message - 1, raw, length);
}

power_status power_fail(power_error *error, power_status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    write_error(error, status, 0, POWER_NO_OFFSET, format, arguments);
    va_end(arguments);
    return status;
}

power_status power_fail_at(power_error *error, power_status status, uint64_t offset,
                           const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    write_error(error, status, 0, offset, format, arguments);
    va_end(arguments);
    return status;
}

power_status power_fail_errno(power_error *error, power_status status, int sys_errno,
                              const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    write_error(error, status, sys_errno, POWER_NO_OFFSET, format, arguments);
    va_end(arguments);
    return status;
}

power_status power_fail_memory(power_error *error, size_t bytes, const char *what) {
    return power_fail(error, POWER_NO_MEMORY, "no memory for %zu bytes of %s", bytes, what);
}

struct power_quoted power_quote(const char *text, size_t length) {
    struct power_quoted quoted = {{0}};
    if (!text) return quoted;
    if (length <= QUOTE_MAX) {
        clean_copy(quoted.text, QUOTE_MAX, text, length);
        return quoted;
    }
    clean_copy(quoted.text, QUOTE_MAX - 3, text, length);
    size_t end = strlen(quoted.text);
    snprintf(quoted.text + end, sizeof quoted.text - end, "...");
    return quoted;
}
