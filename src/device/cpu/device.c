/* SPDX-License-Identifier: MIT */
/* Opening the CPU device: kernel table, thread pool, scratch; the packing of weights.
 * Input: options. Output: a device whose operations are those of device.h.
 * Threads: open and close by one thread; packing by any. Bounds: threads as asked, scratch of
 * POWER_PRODUCT_SCRATCH bytes each. */
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "device/cpu/cpu.h"
#include "device/cpu/self_test.h"

/* One scratch of a thread serves both. */
union kernel_scratch {
    unsigned char product[POWER_PRODUCT_SCRATCH], attend[POWER_ATTEND_SCRATCH];
};

static void device_close(struct power_device *device) {
    struct power_cpu_device *cpu = power_cpu_device(device);
    const power_allocator *allocator = cpu->base.allocator;
    power_pool_destroy(cpu->pool);
    power_mutex_destroy(cpu->lock);
    if (cpu->scratch) power_pages_free(cpu->scratch, cpu->scratch_bytes);
    power_release(allocator, cpu, 1, sizeof *cpu);
}

/* A run is complete when submit returns. */
static power_status device_wait(struct power_device *device, power_error *error) {
    (void)device;
    (void)error;
    return POWER_OK;
}

uint32_t power_cpu_pack_recipe(struct power_device *device, enum power_dtype dtype, uint64_t rows,
                               uint64_t cols, uint32_t slices, uint64_t *out_bytes,
                               uint64_t *out_units) {
    const struct power_cpu_device *cpu = power_cpu_device(device);
    if ((unsigned)dtype >= POWER_DTYPE_LIMIT) return 0;
    const struct power_pack_ops *pack = &cpu->kernels.pack[dtype];
    if (pack->recipe == 0 || !cpu->kernels.product_packed[dtype] || cols > UINT32_MAX) return 0;
    uint64_t groups, units, bytes;
    if (!power_add_u64(rows, POWER_OUT_GRANULE - 1, &groups)) return 0;
    groups /= POWER_OUT_GRANULE;
    if (!power_mul_u64(groups, slices, &units) ||
        !power_mul_u64(units, pack->group_bytes((uint32_t)cols), &bytes))
        return 0;
    *out_bytes = bytes;
    *out_units = units;
    return pack->recipe;
}

power_status power_cpu_pack(struct power_device *device, const struct power_device_weight *weight,
                            const void *raw_host, uint64_t first_unit, uint64_t n_units,
                            power_error *error) {
    const struct power_cpu_device *cpu = power_cpu_device(device);
    uint64_t bytes, units;
    uint32_t recipe = power_cpu_pack_recipe(device, weight->dtype, weight->rows, weight->cols,
                                            weight->slices, &bytes, &units);
    if (recipe == 0 || recipe != weight->packed_recipe)
        return power_fail(error, POWER_INVALID, "pack: recipe %u is not this device's",
                          weight->packed_recipe);
    if (first_unit > units || n_units > units - first_unit || weight->rows > UINT32_MAX ||
        !weight->packed || weight->packed->borrowed ||
        !power_buffer_holds(weight->packed, weight->packed_offset, bytes))
        return power_fail(error, POWER_INVALID, "pack: units or buffer out of range");
    const struct power_pack_ops *pack = &cpu->kernels.pack[weight->dtype];
    struct power_dtype_info info = power_dtype_info((uint32_t)weight->dtype);
    size_t stride = (size_t)(weight->cols / info.block_elements * info.block_bytes);
    size_t group_bytes = pack->group_bytes((uint32_t)weight->cols);
    uint64_t groups = (weight->rows + POWER_OUT_GRANULE - 1) / POWER_OUT_GRANULE;
    unsigned char *out = weight->packed->host + weight->packed_offset;
    for (uint64_t unit = first_unit; unit < first_unit + n_units; unit++) {
        const unsigned char *slice =
            (const unsigned char *)raw_host + unit / groups * weight->rows * stride;
        pack->pack_group(slice, stride, (uint32_t)weight->cols, (uint32_t)weight->rows,
                         (uint32_t)(unit % groups), out + unit * group_bytes);
    }
    return POWER_OK;
}

static const struct power_device_ops OPS = {
    .close = device_close,
    .buffer_create = power_cpu_buffer_create,
    .buffer_wrap = power_cpu_buffer_wrap,
    .buffer_destroy = power_cpu_buffer_destroy,
    .upload = power_cpu_upload,
    .download = power_cpu_download,
    .fill = power_cpu_fill,
    .pack_recipe = power_cpu_pack_recipe,
    .pack = power_cpu_pack,
    .piece_bytes = power_cpu_piece_bytes,
    .plan_compile = power_cpu_plan_compile,
    .plan_destroy = power_cpu_plan_destroy,
    .plan_info = power_cpu_plan_info,
    .submit = power_cpu_submit,
    .wait = device_wait,
};

static const char *path_name(uint32_t features) {
    if (features & POWER_CPU_AVX512_VNNI) return "avx512-vnni";
    if (features & POWER_CPU_AVX512) return "avx512";
    if (features & POWER_CPU_AVX2) return "avx2";
    if (features & POWER_CPU_I8MM) return "neon-i8mm";
    if (features & POWER_CPU_DOTPROD) return "neon-dotprod";
    if (features & POWER_CPU_NEON) return "neon";
    return "reference";
}

/* The kernel table; kernels that need it are tested first, in the device's scratch. */
static power_status choose_kernels(struct power_cpu_device *cpu, uint32_t features,
                                   power_error *error) {
    uint32_t refuted = 0;
    if (features & POWER_CPU_SELF_TESTED) {
        const power_allocator *allocator = cpu->base.allocator;
        struct power_self_test_work *work = power_alloc(allocator, 1, sizeof *work);
        if (!work) return power_fail_memory(error, sizeof *work, "self-test");
        const struct power_fp_state fp = power_fp_enter();
        refuted = power_kernels_init_tested(power_cpu_kernels_init, &cpu->kernels, features, work,
                                            cpu->scratch);
        power_fp_leave(fp);
        power_release(allocator, work, 1, sizeof *work);
    } else {
        power_cpu_kernels_init(&cpu->kernels, features);
    }
    (void)snprintf(cpu->base.description, sizeof cpu->base.description, "%s %s, %u thread%s%s%s%s",
                   cpu->base.kind, path_name(cpu->kernels.features), cpu->n_threads,
                   cpu->n_threads == 1 ? "" : "s", refuted ? " (self-test failed: " : "",
                   refuted ? path_name(refuted) : "", refuted ? ")" : "");
    return POWER_OK;
}

power_status power_cpu_device_open(const power_allocator *allocator,
                                   const struct power_cpu_options *options,
                                   struct power_device **out, power_error *error) {
    struct power_cpu_device *cpu = power_alloc(allocator, 1, sizeof *cpu);
    if (!cpu) return power_fail_memory(error, sizeof *cpu, "device");
    cpu->base = (struct power_device_base){.ops = &OPS, .allocator = allocator};
    cpu->base.kind = options->apart ? "apart" : "cpu";
    cpu->base.wraps_host = !options->apart;
    cpu->apart = options->apart;
    cpu->n_threads = options->threads ? options->threads : power_usable_cpus();
    void *scratch = NULL;
    power_status status = power_mutex_create(&cpu->lock, allocator, error);
    if (status != POWER_OK) goto cleanup;
    status = power_pool_create(&cpu->pool, allocator, cpu->n_threads, error);
    if (status != POWER_OK) goto cleanup;
    cpu->scratch_stride = sizeof(union kernel_scratch);
    cpu->scratch_bytes = cpu->scratch_stride * cpu->n_threads;
    status = power_pages_alloc(&scratch, cpu->scratch_bytes, error);
    if (status != POWER_OK) goto cleanup;
    cpu->scratch = scratch;
    status = choose_kernels(cpu, power_cpu_features() & options->feature_mask, error);
    if (status != POWER_OK) goto cleanup;
    *out = (struct power_device *)(void *)cpu;
    return POWER_OK;
cleanup:
    device_close((struct power_device *)(void *)cpu);
    return status;
}

void power_cpu_device_counters(struct power_device *device, struct power_device_counters *out) {
    struct power_cpu_device *cpu = power_cpu_device(device);
    out->plans_compiled = atomic_load(&cpu->plans_compiled);
    out->uploads = atomic_load(&cpu->uploads);
    out->downloads = atomic_load(&cpu->downloads);
    out->runs = atomic_load(&cpu->runs);
}
