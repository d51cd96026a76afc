/* SPDX-License-Identifier: MIT */
/* Makes one kernel wrong in the last bit, so that the digest test can be shown to notice.
 * Input: an open model. Output: its device's RMS norm flips one bit. Threads: none running.
 * Bounds: this model's device only. */
#include "scenario.h"

#include "api/runtime.h"
#include "device/cpu/cpu.h"
#include "device/cpu/ref/ref.h"

#include <string.h>

static void norm_off_by_a_bit(const float *x, const float *w, uint32_t n, float eps, float *y) {
    struct power_cpu_kernels table;
    uint32_t bits;
    power_kernels_ref(&table);
    table.rms_norm(x, w, n, eps, y);
    memcpy(&bits, &y[n / 2], sizeof bits);
    bits ^= 1u;
    memcpy(&y[n / 2], &bits, sizeof bits);
}

void scenario_spoil(struct scenario_bench *bench) {
    struct power_cpu_device *device = (struct power_cpu_device *)(void *)bench->h.runtime->device;
    device->kernels.rms_norm = norm_off_by_a_bit;
}
