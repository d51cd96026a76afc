/* SPDX-License-Identifier: MIT */
/* Reading a file once, front to back, through a window. What was read is never read again: a file
 * that changes meanwhile cannot be judged by one set of bytes and used by another. Input: an open
 * file of a source, or bytes in memory. Output: bytes, in order. Threads: one. Bounds: 64 KiB of
 * window; never past the size that the file had when it was opened. */
#ifndef POWER_FORMAT_INPUT_H
#define POWER_FORMAT_INPUT_H

#include "format/internal.h"

enum { POWER_INPUT_WINDOW = 1 << 16, POWER_INPUT_TAKE_MAX = 64 };

struct power_input {
    const struct power_source_file *file;
    const power_allocator *allocator;
    unsigned char *window;
    size_t window_at, window_length; /* the unread part of the window */
    uint64_t offset;                 /* of the next byte, in the file */
    power_status status;             /* sticky */
    power_error *error;
};

power_status power_input_init(struct power_input *input, const struct power_source_file *file,
                              const power_allocator *allocator, power_error *error) POWER_MUST_USE;
void power_input_finish(struct power_input *input);

static inline uint64_t power_input_left(const struct power_input *input) {
    return input->file->file.size_bytes - input->offset;
}

/* `length` bytes, at most POWER_INPUT_TAKE_MAX and at most what is left; valid until the next call.
 * Never NULL: after a failure they are zeros and `status` says why. */
const unsigned char *power_input_take(struct power_input *input, size_t length);
/* Copies `length` bytes, at most what is left. */
bool power_input_copy(struct power_input *input, void *out, size_t length);

#endif
