/* SPDX-License-Identifier: MIT */
/* Rotary tables: exponential, logarithm, sine and cosine in double without the system's libm, so
 * that the tables have the same bits everywhere. Only +, -, *, / and fma (all correctly rounded)
 * are used. Input: frequencies and positions. Output: binary32, rounded once. Threads: any. Bounds:
 * |angle| < 2^40; exp and log serve the range of frequencies and saturate outside. */
#include "base/rotary.h"

#include <math.h>
#include <string.h>

#define LN2_HIGH 0x1.62e42fefa38p-1 /* the last 14 bits are zero: n * LN2_HIGH is exact */
#define LN2_LOW 0x1.ef35793c7673p-45
#define LOG2_E 0x1.71547652b82fep+0
#define TWO_OVER_PI 0x1.45f306dc9c883p-1
/* pi / 2 in three parts; the first two are the nearest doubles of what is left. */
#define HALF_PI_1 0x1.921fb54442d18p+0
#define HALF_PI_2 0x1.1a62633145c07p-54
#define HALF_PI_3 -0x1.f1976b7ed8fbcp-110

static double scale_by_power(double x, int exponent) {
    const uint64_t bits = (uint64_t)(int64_t)(exponent + 1023) << 52;
    double factor;
    memcpy(&factor, &bits, sizeof factor);
    return x * factor;
}

/* exp(x) = 2^n exp(r), |r| <= ln2 / 2; the series to r^13 leaves 4e-18. */
double power_exp_double(double x) {
    if (!(x >= -700.0)) {
        return x < -700.0 ? 0.0 : x; /* a NaN stays */
    }
    if (x > 700.0) {
        return (double)INFINITY;
    }
    const double n = floor(x * LOG2_E + 0.5);
    const double r = fma(-n, LN2_LOW, fma(-n, LN2_HIGH, x));
    double p = 1.0;
    for (int i = 13; i >= 1; i--) {
        p = fma(p * r, 1.0 / (double)i, 1.0);
    }
    return scale_by_power(p, (int)n);
}

/* log(x) = e ln2 + 2 atanh(s), s = (m - 1) / (m + 1), m in [sqrt(1/2), sqrt(2)). */
double power_log_double(double x) {
    if (!(x > 0.0) || x > 0x1.fffffffffffffp+1023) {
        return x == 0.0 ? -(double)INFINITY : (x < 0.0 ? (double)NAN : x);
    }
    int e = 0;
    if (x < 0x1p-1022) {
        x *= 0x1p+54;
        e = -54;
    }
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    e += (int)(bits >> 52) - 1023;
    bits = (bits & 0xfffffffffffffu) | (uint64_t)1023 << 52;
    double m;
    memcpy(&m, &bits, sizeof m);
    if (m > 0x1.6a09e667f3bcdp+0) {
        m *= 0.5;
        e += 1;
    }
    const double s = (m - 1.0) / (m + 1.0), z = s * s;
    double p = 0.0;
    for (int i = 25; i >= 3; i -= 2) {
        p = fma(p, z, 1.0 / (double)i);
    }
    const double n = (double)e;
    return fma(n, LN2_HIGH, fma(n, LN2_LOW, fma(2.0 * s * z, p, 2.0 * s)));
}

/* Taylor series on |r| <= pi / 4: the terms left out are below 1e-19. */
static double sine_series(double r) {
    const double z = r * r;
    double p = 1.0;
    for (int i = 19; i >= 3; i -= 2) {
        p = fma(-p * z, 1.0 / (double)(i * (i - 1)), 1.0);
    }
    return r * p;
}

static double cosine_series(double r) {
    const double z = r * r;
    double p = 1.0;
    for (int i = 20; i >= 2; i -= 2) {
        p = fma(-p * z, 1.0 / (double)(i * (i - 1)), 1.0);
    }
    return p;
}

void power_sincos_double(double angle, double *out_sin, double *out_cos) {
    const double n = floor(angle * TWO_OVER_PI + 0.5);
    double r = fma(-n, HALF_PI_1, angle);
    r = fma(-n, HALF_PI_2, r);
    r = fma(-n, HALF_PI_3, r);
    const double s = sine_series(r), c = cosine_series(r);
    switch ((int)((int64_t)n & 3)) {
    case 0:
        *out_sin = s;
        *out_cos = c;
        break;
    case 1:
        *out_sin = c;
        *out_cos = -s;
        break;
    case 2:
        *out_sin = -s;
        *out_cos = -c;
        break;
    default:
        *out_sin = -c;
        *out_cos = s;
        break;
    }
}

void power_rope_row(const float *inv_freq, uint32_t n, uint64_t pos, double factor, float *out) {
    for (uint32_t i = 0; i < n; i++) {
        double s, c;
        power_sincos_double((double)pos * (double)inv_freq[i], &s, &c);
        out[i] = (float)(c * factor);
        out[n + i] = (float)(s * factor);
    }
}
