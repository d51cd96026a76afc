/* SPDX-License-Identifier: MIT */
/* Runtimes: limits, the device, what models borrow from both.
 * Input: options. Output: a runtime. Threads: any. Bounds: options are checked here, once. */
#include "api/runtime.h"

#include <string.h>

power_status power_options_copy(void *out, size_t known, const void *options, size_t size,
                                const char *what, power_error *error) {
    if (size < sizeof(size_t) || size > known) {
        return power_fail(error, POWER_INVALID,
                          "%s: struct_size is %zu, this library knows %zu (call its _init)", what,
                          size, known);
    }
    memcpy(out, options, size);
    memcpy(out, &known, sizeof known); /* struct_size comes first in every option struct */
    return POWER_OK;
}

void power_runtime_options_init(power_runtime_options *options) {
    if (!options) return;
    *options = (power_runtime_options){.struct_size = sizeof *options,
                                       .device = POWER_DEVICE_AUTO,
                                       .cpu_mask = UINT32_MAX,
                                       .log_level = POWER_LOG_WARNING};
}

static power_status check_options(const power_runtime_options *o, power_error *error) {
    if (o->device != POWER_DEVICE_AUTO && o->device != POWER_DEVICE_CPU) {
        return power_fail(error, POWER_UNSUPPORTED, "device %d is not in this build",
                          (int)o->device);
    }
    if (o->threads > 1024) {
        return power_fail(error, POWER_INVALID, "\"threads\" is %u, at most 1024", o->threads);
    }
    if (o->allocator && (!o->allocator->alloc || !o->allocator->release)) {
        return power_fail(error, POWER_INVALID, "\"allocator\" has a NULL function");
    }
    return POWER_OK;
}

static void lend(struct power_runtime *runtime, uint32_t threads) {
    const power_runtime_options *o = &runtime->options;
    runtime->host = (struct power_model_host){.allocator = runtime->allocator,
                                              .device = runtime->device,
                                              .budget = &runtime->budget,
                                              .threads = threads,
                                              .cpu_features = power_cpu_features() & o->cpu_mask,
                                              .max_file_bytes = o->max_file_bytes,
                                              .may_map = o->guard_mapped_files != 0,
                                              .log = o->log,
                                              .log_context = o->log_context,
                                              .log_level = o->log_level};
}

power_status power_runtime_open(const power_runtime_options *options, power_runtime **out_runtime,
                                power_error *error) {
    power_runtime_options copy;
    power_runtime_options_init(&copy);
    if (!out_runtime) return power_fail(error, POWER_INVALID, "out_runtime is NULL");
    power_status status = POWER_OK;
    if (options) {
        status = power_options_copy(&copy, sizeof copy, options, options->struct_size,
                                    "runtime options", error);
    }
    if (status == POWER_OK) status = check_options(&copy, error);
    if (status != POWER_OK) return status;
    const power_allocator *allocator = copy.allocator ? copy.allocator : &power_default_allocator;
    struct power_runtime *runtime = power_alloc(allocator, 1, sizeof *runtime);
    if (!runtime) return power_fail_memory(error, sizeof *runtime, "a runtime");
    runtime->allocator = allocator;
    runtime->options = copy;
    runtime->budget.max_bytes =
        copy.max_memory_bytes ? copy.max_memory_bytes : power_memory_total();
    if (copy.guard_mapped_files) status = power_bus_guard_install(error);
    struct power_cpu_options cpu = {.threads = copy.threads ? copy.threads : power_usable_cpus(),
                                    .feature_mask = copy.cpu_mask};
    if (status == POWER_OK) {
        status = power_cpu_device_open(allocator, &cpu, &runtime->device, error);
    }
    if (status != POWER_OK) {
        power_runtime_close(runtime);
        return status;
    }
    lend(runtime, cpu.threads);
    *out_runtime = runtime;
    return POWER_OK;
}

void power_runtime_close(power_runtime *runtime) {
    if (!runtime) return;
    if (runtime->device) power_device_base(runtime->device)->ops->close(runtime->device);
    power_release(runtime->allocator, runtime, 1, sizeof *runtime);
}

const char *power_runtime_device(const power_runtime *runtime) {
    return runtime ? power_device_base(runtime->device)->description : "";
}

/* ---- names ---- */

struct mask_name {
    struct power_text name;
    uint32_t bits;
};

static bool find_mask(struct power_text word, uint32_t *out_bits) {
    const struct mask_name names[] = {
        {POWER_TEXT("all"), UINT32_MAX},
        {POWER_TEXT("none"), 0},
        {POWER_TEXT("avx2"), POWER_CPU_AVX2},
        {POWER_TEXT("avx512"), POWER_CPU_AVX2 | POWER_CPU_AVX512},
        {POWER_TEXT("vnni"), POWER_CPU_AVX512_VNNI | POWER_CPU_AVX_VNNI},
        {POWER_TEXT("neon"), POWER_CPU_NEON},
        {POWER_TEXT("dotprod"), POWER_CPU_NEON | POWER_CPU_DOTPROD},
        {POWER_TEXT("i8mm"), POWER_CPU_NEON | POWER_CPU_DOTPROD | POWER_CPU_I8MM},
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (!power_text_equal(names[i].name, word)) continue;
        *out_bits |= names[i].bits;
        return true;
    }
    return false;
}

power_status power_cpu_mask_parse(const char *text, uint32_t *out_mask, power_error *error) {
    uint32_t mask = 0;
    if (!text || !out_mask) return power_fail(error, POWER_INVALID, "text or out_mask is NULL");
    for (const char *at = text;;) {
        size_t length = strcspn(at, ",+");
        if (!find_mask((struct power_text){at, length}, &mask)) {
            return power_fail_at(
                error, POWER_INVALID, (uint64_t)(at - text),
                "cpu mask: \"%s\" is not known (all, none, avx2, avx512, vnni, neon, "
                "dotprod, i8mm)",
                power_quote(at, length).text);
        }
        if (at[length] == '\0') break;
        at += length + 1;
    }
    *out_mask = mask;
    return POWER_OK;
}

uint32_t power_architecture_count(void) {
    return power_family_count();
}

const char *power_architecture_name(uint32_t index) {
    return index < power_family_count() ? power_family_name(index) : NULL;
}
