/* SPDX-License-Identifier: MIT */
/* The CPU device's own structs. Input, output: those of device.h.
 * Threads: as device.h says; submits are serialised by `lock`. Bounds: the options given at open.
 */
#ifndef POWER_DEVICE_CPU_CPU_H
#define POWER_DEVICE_CPU_CPU_H

#include <stdatomic.h>

#include "device/cpu/kernels.h"
#include "device/cpu/pool.h"
#include "device/device.h"
#include "os/os.h"

struct power_device_buffer {
    unsigned char *host;
    uint64_t bytes;
    bool borrowed; /* wrapped: not ours to free */
    bool pages;    /* from power_pages_alloc, else from the allocator */
};

struct power_cpu_device {
    struct power_device_base base; /* must be first */
    struct power_cpu_kernels kernels;
    struct power_pool *pool;
    struct power_mutex *lock; /* one run at a time on the pool */
    uint32_t n_threads;
    bool apart;
    unsigned char *scratch; /* [n_threads][scratch_stride], the kernels' */
    size_t scratch_stride, scratch_bytes;
    _Atomic(uint64_t) plans_compiled, uploads, downloads, runs;
};

static inline struct power_cpu_device *power_cpu_device(struct power_device *device) {
    return (struct power_cpu_device *)(void *)device;
}

/* buffers.c */
power_status power_cpu_buffer_create(struct power_device *device, uint64_t bytes,
                                     struct power_device_buffer **out, power_error *error);
power_status power_cpu_buffer_wrap(struct power_device *device, const void *host, uint64_t bytes,
                                   struct power_device_buffer **out, power_error *error);
void power_cpu_buffer_destroy(struct power_device *device, struct power_device_buffer *buffer);
power_status power_cpu_upload(struct power_device *device, struct power_device_buffer *buffer,
                              uint64_t offset, const void *host, uint64_t bytes,
                              power_error *error);
power_status power_cpu_download(struct power_device *device,
                                const struct power_device_buffer *buffer, uint64_t offset,
                                void *host, uint64_t bytes, power_error *error);
power_status power_cpu_fill(struct power_device *device, struct power_device_buffer *buffer,
                            uint64_t offset, uint8_t value, uint64_t bytes, power_error *error);
/* True when [offset, offset + bytes) lies inside. */
static inline bool power_buffer_holds(const struct power_device_buffer *buffer, uint64_t offset,
                                      uint64_t bytes) {
    return buffer && offset <= buffer->bytes && bytes <= buffer->bytes - offset;
}

/* device.c: weights */
uint32_t power_cpu_pack_recipe(struct power_device *device, enum power_dtype dtype, uint64_t rows,
                               uint64_t cols, uint32_t slices, uint64_t *out_bytes,
                               uint64_t *out_units);
power_status power_cpu_pack(struct power_device *device, const struct power_device_weight *weight,
                            const void *raw_host, uint64_t first_unit, uint64_t n_units,
                            power_error *error);

/* compile.c, plan.c, exec_submit.c */
power_status power_cpu_plan_compile(struct power_device *device, const struct power_graph *graph,
                                    const struct power_weight_table *weights,
                                    const struct power_plan_limits *limits, struct power_plan **out,
                                    power_error *error);
void power_cpu_plan_destroy(struct power_device *device, struct power_plan *plan);
void power_cpu_plan_info(const struct power_plan *plan, struct power_plan_info *out);
power_status power_cpu_submit(struct power_device *device, struct power_plan *plan,
                              const struct power_run *run, power_error *error);

/* state_commands.c */
power_status power_cpu_piece_bytes(struct power_device *device, const struct power_piece *piece,
                                   const struct power_plan_limits *limits,
                                   struct power_piece_bytes *out, power_error *error);

#endif
