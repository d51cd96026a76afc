/* SPDX-License-Identifier: MIT */
/* IEEE half and bfloat16: widening (exact) and rounding to half (nearest even), by integers only.
 * Input: one value. Output: the same value, or the nearest. Threads: any. Bounds: none. */
#include "device/cpu/ref/math.h"

#include <string.h>

static float float_of(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

float power_half_to_float(uint16_t h) {
    const uint32_t sign = (uint32_t)(h & 0x8000u) << 16;
    const uint32_t exponent = h >> 10 & 31u, mantissa = h & 0x3ffu;
    if (exponent == 0) { /* zero or subnormal: mantissa * 2^-24, exact */
        const float magnitude = (float)mantissa * 0x1p-24f;
        return sign ? -magnitude : magnitude;
    }
    if (exponent == 31) { /* infinity; a NaN is made quiet, as the hardware does */
        return float_of(sign | 0x7f800000u | (mantissa ? 0x400000u : 0u) | mantissa << 13);
    }
    return float_of(sign | (exponent + 112u) << 23 | mantissa << 13);
}

/* Removes the low `drop` bits (1..31), nearest even. */
static uint32_t round_shift(uint32_t value, uint32_t drop) {
    const uint32_t kept = value >> drop, rest = value & ((1u << drop) - 1u);
    const uint32_t half = 1u << (drop - 1u);
    return kept + (rest > half || (rest == half && (kept & 1u)) ? 1u : 0u);
}

uint16_t power_float_to_half(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    const uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) { /* NaN: quiet, the payload's high bits kept */
        return (uint16_t)(sign | 0x7e00u | (magnitude >> 13 & 0x1ffu));
    }
    if (magnitude >= 0x477ff000u) { /* 65520 and above round to infinity */
        return (uint16_t)(sign | 0x7c00u);
    }
    if (magnitude >= 0x38800000u) { /* normal: re-bias, round 13 bits; a carry moves the exponent */
        return (uint16_t)(sign | round_shift(magnitude - 0x38000000u, 13));
    }
    const uint32_t exponent = magnitude >> 23;
    if (exponent < 102u) { /* below 2^-25: zero; 2^-25 itself is even's tie */
        return (uint16_t)sign;
    }
    const uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
    return (uint16_t)(sign | round_shift(mantissa, 126u - exponent));
}

float power_bfloat_to_float(uint16_t b) {
    return float_of((uint32_t)b << 16);
}
