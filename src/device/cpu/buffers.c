/* SPDX-License-Identifier: MIT */
/* Buffers by handle. The test device ("apart") wraps nothing and poisons what it releases, so that
 * a pointer kept across the boundary shows. Input: sizes, host bytes. Output: handles. Threads: any
 * for different buffers. Bounds: every access is checked against the buffer. */
#include <string.h>

#include "device/cpu/cpu.h"

#define PAGES_FROM_BYTES ((uint64_t)1 << 20)
#define POISON 0xa5

power_status power_cpu_buffer_create(struct power_device *device, uint64_t bytes,
                                     struct power_device_buffer **out, power_error *error) {
    const power_allocator *allocator = power_device_base(device)->allocator;
    if (bytes == 0 || bytes > SIZE_MAX / 2)
        return power_fail(error, POWER_INVALID, "a buffer of %llu bytes",
                          (unsigned long long)bytes);
    struct power_device_buffer *buffer = power_alloc(allocator, 1, sizeof *buffer);
    if (!buffer) return power_fail_memory(error, sizeof *buffer, "buffer");
    buffer->bytes = bytes;
    buffer->pages = bytes >= PAGES_FROM_BYTES;
    power_status status = POWER_OK;
    void *memory = NULL;
    if (buffer->pages) {
        status = power_pages_alloc(&memory, (size_t)bytes, error);
    } else {
        memory = power_alloc(allocator, (size_t)bytes, 1);
        if (!memory) status = power_fail_memory(error, (size_t)bytes, "buffer");
    }
    if (status != POWER_OK) {
        power_release(allocator, buffer, 1, sizeof *buffer);
        return status;
    }
    buffer->host = memory;
    *out = buffer;
    return POWER_OK;
}

power_status power_cpu_buffer_wrap(struct power_device *device, const void *host, uint64_t bytes,
                                   struct power_device_buffer **out, power_error *error) {
    const power_allocator *allocator = power_device_base(device)->allocator;
    if (power_cpu_device(device)->apart)
        return power_fail(error, POWER_UNSUPPORTED, "device \"apart\" cannot wrap host memory");
    struct power_device_buffer *buffer = power_alloc(allocator, 1, sizeof *buffer);
    if (!buffer) return power_fail_memory(error, sizeof *buffer, "buffer");
    /* Wrapped memory is read only by contract: upload and fill refuse it. */
    union {
        const void *from;
        unsigned char *to;
    } pointer = {.from = host};
    *buffer = (struct power_device_buffer){pointer.to, bytes, true, false};
    *out = buffer;
    return POWER_OK;
}

void power_cpu_buffer_destroy(struct power_device *device, struct power_device_buffer *buffer) {
    if (!buffer) return;
    const power_allocator *allocator = power_device_base(device)->allocator;
    if (!buffer->borrowed) {
        if (power_cpu_device(device)->apart) memset(buffer->host, POISON, (size_t)buffer->bytes);
        if (buffer->pages)
            power_pages_free(buffer->host, (size_t)buffer->bytes);
        else
            power_release(allocator, buffer->host, (size_t)buffer->bytes, 1);
    }
    power_release(allocator, buffer, 1, sizeof *buffer);
}

static power_status check_range(const struct power_device_buffer *buffer, uint64_t offset,
                                uint64_t bytes, const char *what, power_error *error) {
    if (power_buffer_holds(buffer, offset, bytes)) return POWER_OK;
    return power_fail(error, POWER_INVALID, "%s of %llu bytes at %llu: outside the buffer", what,
                      (unsigned long long)bytes, (unsigned long long)offset);
}

static power_status check_write(const struct power_device_buffer *buffer, uint64_t offset,
                                uint64_t bytes, const char *what, power_error *error) {
    if (buffer && buffer->borrowed)
        return power_fail(error, POWER_STATE, "%s: the buffer wraps read-only host memory", what);
    return check_range(buffer, offset, bytes, what, error);
}

power_status power_cpu_upload(struct power_device *device, struct power_device_buffer *buffer,
                              uint64_t offset, const void *host, uint64_t bytes,
                              power_error *error) {
    power_status status = check_write(buffer, offset, bytes, "upload", error);
    if (status != POWER_OK) return status;
    memcpy(buffer->host + offset, host, (size_t)bytes);
    atomic_fetch_add_explicit(&power_cpu_device(device)->uploads, 1, memory_order_relaxed);
    return POWER_OK;
}

power_status power_cpu_download(struct power_device *device,
                                const struct power_device_buffer *buffer, uint64_t offset,
                                void *host, uint64_t bytes, power_error *error) {
    power_status status = check_range(buffer, offset, bytes, "download", error);
    if (status != POWER_OK) return status;
    memcpy(host, buffer->host + offset, (size_t)bytes);
    atomic_fetch_add_explicit(&power_cpu_device(device)->downloads, 1, memory_order_relaxed);
    return POWER_OK;
}

power_status power_cpu_fill(struct power_device *device, struct power_device_buffer *buffer,
                            uint64_t offset, uint8_t value, uint64_t bytes, power_error *error) {
    (void)device;
    power_status status = check_write(buffer, offset, bytes, "fill", error);
    if (status != POWER_OK) return status;
    memset(buffer->host + offset, value, (size_t)bytes);
    return POWER_OK;
}
