/* SPDX-License-Identifier: MIT */
/* The window over a file. Input: a file of a source. Output: its bytes in order.
 * Threads: one.
 * Bounds: the window; requests are checked by the caller against power_input_left. */
#include "format/input.h"

#include <assert.h>

static const unsigned char zeros[POWER_INPUT_TAKE_MAX];

power_status power_input_init(struct power_input *input, const struct power_source_file *file,
                              const power_allocator *allocator, power_error *error) {
    *input = (struct power_input){.file = file, .allocator = allocator, .error = error};
    input->window = power_alloc(allocator, POWER_INPUT_WINDOW, 1);
    if (!input->window) return power_fail_memory(error, POWER_INPUT_WINDOW, "a read buffer");
    return POWER_OK;
}

void power_input_finish(struct power_input *input) {
    power_release(input->allocator, input->window, POWER_INPUT_WINDOW, 1);
    input->window = NULL;
}

/* Bytes of the file, past the window. */
static bool fetch(struct power_input *input, uint64_t offset, unsigned char *out, size_t length) {
    const struct power_source_file *file = input->file;
    if (file->file.fd < 0) {
        memcpy(out, file->mapping.bytes + offset, length);
        return true;
    }
    input->status = power_file_read(&file->file, offset, out, length, input->error);
    return input->status == POWER_OK;
}

static bool refill(struct power_input *input) {
    memmove(input->window, input->window + input->window_at, input->window_length);
    input->window_at = 0;
    uint64_t beyond = power_input_left(input) - input->window_length;
    size_t room = POWER_INPUT_WINDOW - input->window_length;
    size_t more = beyond < room ? (size_t)beyond : room;
    uint64_t from = input->offset + input->window_length;
    if (!fetch(input, from, input->window + input->window_length, more)) return false;
    input->window_length += more;
    return true;
}

const unsigned char *power_input_take(struct power_input *input, size_t length) {
    assert(length <= POWER_INPUT_TAKE_MAX && length <= power_input_left(input));
    if (input->status != POWER_OK) return zeros;
    if (length > input->window_length && !refill(input)) return zeros;
    const unsigned char *at = input->window + input->window_at;
    input->window_at += length;
    input->window_length -= length;
    input->offset += length;
    return at;
}

bool power_input_copy(struct power_input *input, void *out, size_t length) {
    assert(length <= power_input_left(input));
    unsigned char *to = out;
    if (input->status != POWER_OK) return false;
    /* Small pieces come through the window, the bulk of a large one goes past it. */
    if (length > input->window_length && length < POWER_INPUT_WINDOW && !refill(input)) {
        return false;
    }
    size_t part = length < input->window_length ? length : input->window_length;
    if (part) memcpy(to, input->window + input->window_at, part);
    input->window_at += part;
    input->window_length -= part;
    input->offset += part;
    if (part == length) return true;
    if (!fetch(input, input->offset, to + part, length - part)) return false;
    input->offset += length - part;
    return true;
}
