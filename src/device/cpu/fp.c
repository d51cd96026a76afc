/* SPDX-License-Identifier: MIT */
/* The floating-point environment of threads that run kernels: nearest even, subnormals kept.
 * Input: the thread's own control register. Output: the register set, the old value to restore.
 * Threads: each sets and restores its own. Bounds: none. */
#include "device/cpu/kernels.h"

#if defined(__x86_64__) || defined(__SSE2__)
#include <xmmintrin.h>

struct power_fp_state power_fp_enter(void) {
    struct power_fp_state state = {_mm_getcsr()};
    _mm_setcsr(0x1f80u);
    return state;
}

void power_fp_leave(struct power_fp_state state) {
    _mm_setcsr((uint32_t)state.saved);
}

#elif defined(__aarch64__)

struct power_fp_state power_fp_enter(void) {
    struct power_fp_state state = {0};
    __asm__ volatile("mrs %0, fpcr" : "=r"(state.saved));
    __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)0));
    return state;
}

void power_fp_leave(struct power_fp_state state) {
    __asm__ volatile("msr fpcr, %0" : : "r"(state.saved));
}

#else
#error "no floating-point control register known for this processor"
#endif
