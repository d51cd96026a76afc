/* SPDX-License-Identifier: MIT */
/* What the processor and the operating system allow: instruction sets as a feature mask.
 * Input: cpuid leaves and xgetbv; on Arm the auxiliary vector. Output: enum power_cpu_feature bits.
 * Threads: any. Bounds: none. */
#include "device/device.h"

#if defined(__x86_64__)
#include <cpuid.h>

/* Bits of XCR0: state that the system saves when it switches threads. */
#define XCR0_AVX 0x6u     /* xmm, ymm */
#define XCR0_AVX512 0xe6u /* and opmask, zmm, upper zmm */
#define XCR0_AMX 0x60000u /* tile configuration, tile data */

static uint64_t read_xcr0(void) {
    uint32_t low = 0, high = 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

static bool has_all(uint32_t value, uint32_t bits) {
    return (value & bits) == bits;
}

static uint32_t features_of_leaf7(uint64_t xcr0) {
    uint32_t a = 0, b = 0, c = 0, d = 0, features = 0;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
        return 0;
    }
    const uint32_t last_subleaf = a;
    if (!has_all(b, 1u << 5)) { /* AVX2 */
        return 0;
    }
    features |= POWER_CPU_AVX2;
    const uint32_t avx512 = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31; /* F, DQ, BW, VL */
    if ((xcr0 & XCR0_AVX512) == XCR0_AVX512 && has_all(b, avx512)) {
        features |= POWER_CPU_AVX512;
        if (has_all(c, 1u << 11)) {
            features |= POWER_CPU_AVX512_VNNI;
        }
    }
    if ((xcr0 & XCR0_AMX) == XCR0_AMX && has_all(d, 1u << 24 | 1u << 25)) { /* TILE, INT8 */
        features |= POWER_CPU_AMX_INT8;
    }
    if (last_subleaf >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d) && has_all(a, 1u << 4)) {
        features |= POWER_CPU_AVX_VNNI;
    }
    return features;
}

uint32_t power_cpu_features(void) {
    uint32_t a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d)) {
        return 0;
    }
    /* FMA, OSXSAVE, AVX, F16C: all of them, or nothing beyond the reference runs. */
    if (!has_all(c, 1u << 12 | 1u << 27 | 1u << 28 | 1u << 29)) {
        return 0;
    }
    const uint64_t xcr0 = read_xcr0();
    return (xcr0 & XCR0_AVX) == XCR0_AVX ? features_of_leaf7(xcr0) : 0;
}

#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>

/* Bits that the kernel's interface fixes (asm/hwcap.h, which older headers do not have in full). */
#define CAP_DOTPROD (1ul << 20) /* AT_HWCAP */
#define CAP2_I8MM (1ul << 13)   /* AT_HWCAP2 */

uint32_t power_cpu_features(void) {
    uint32_t features = POWER_CPU_NEON; /* part of the base architecture */
    if (getauxval(AT_HWCAP) & CAP_DOTPROD) features |= POWER_CPU_DOTPROD;
    if (getauxval(AT_HWCAP2) & CAP2_I8MM) features |= POWER_CPU_I8MM;
    return features;
}

#elif defined(__aarch64__)

uint32_t power_cpu_features(void) {
    return POWER_CPU_NEON;
}

#else

uint32_t power_cpu_features(void) {
    return 0;
}

#endif
