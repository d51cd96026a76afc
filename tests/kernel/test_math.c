/* SPDX-License-Identifier: MIT */
/* The scalar functions against libm in double: error bounds over dense sweeps, special values,
 * halves. Input: none. Output: cmocka's verdict. Thread: one. Bounds: about 200,000 points a
 * function. */
#include "base/rotary.h"
#include "device/cpu/ref/math.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static double sigmoid(double x) {
    return 1.0 / (1.0 + exp(-x));
}
static double silu(double x) {
    return x * sigmoid(x);
}
static double gelu_erf(double x) {
    return 0.5 * x * erfc(-x / sqrt(2.0));
}
static double gelu_tanh(double x) {
    return x * sigmoid(2.0 * 0.79788456080286535588 * (x + 0.044715 * x * x * x));
}
static double softplus(double x) {
    return fmax(x, 0.0) + log1p(exp(-fabs(x)));
}

struct sweep {
    const char *name;
    float (*function)(float);
    double (*wanted)(double);
    double first, last;
    double max_ulp; /* units in the last place of the right value; 0: not bounded */
    double max_abs;
};

/* The bounds are the measured maxima of docs/arithmetic-notes.md, rounded up. */
static const struct sweep sweeps[] = {
    {"exp", power_ref_exp, exp, -87.0, 87.0, 1.1, 0.0},
    {"log near 1", power_ref_log, log, 0.5, 2.0, 0.9, 0.0},
    {"log", power_ref_log, log, 1e-6, 1e6, 0.9, 0.0},
    {"log of subnormals", power_ref_log, log, 1e-44, 1e-37, 0.9, 0.0},
    {"tanh", power_ref_tanh, tanh, -12.0, 12.0, 1.4, 0.0},
    {"erf", power_ref_erf, erf, -6.0, 6.0, 2.6, 0.0},
    {"sigmoid", power_ref_sigmoid, sigmoid, -87.0, 87.0, 2.6, 1e-7},
    {"silu", power_ref_silu, silu, -20.0, 20.0, 2.6, 0.0},
    {"gelu_erf", power_ref_gelu_erf, gelu_erf, -6.0, 10.0, 0.0, 5e-7},
    {"gelu_tanh", power_ref_gelu_tanh, gelu_tanh, -6.0, 10.0, 0.0, 5e-7},
    {"softplus", power_ref_softplus, softplus, -20.0, 30.0, 2.1, 0.0},
};

static double ulp_of(double value) {
    int exponent;
    frexp(value, &exponent);
    return ldexp(1.0, exponent - 24 < -149 ? -149 : exponent - 24);
}

static void test_sweeps(void **state) {
    (void)state;
    const int points = 200000;
    for (size_t s = 0; s < sizeof sweeps / sizeof *sweeps; s++) {
        const struct sweep *w = &sweeps[s];
        for (int i = 0; i <= points; i++) {
            const float x = (float)(w->first + (w->last - w->first) * i / points);
            const double right = w->wanted((double)x);
            const double error = fabs((double)w->function(x) - right);
            if ((w->max_ulp > 0.0 && !(error <= w->max_ulp * ulp_of(right))) ||
                (w->max_abs > 0.0 && !(error <= w->max_abs))) {
                fail_msg("%s(%a) is %a, in double %a: %.2f ulp", w->name, (double)x,
                         (double)w->function(x), right, error / ulp_of(right));
            }
        }
    }
}

static float (*const functions[])(float) = {
    power_ref_exp,  power_ref_log,      power_ref_tanh,      power_ref_erf,     power_ref_sigmoid,
    power_ref_silu, power_ref_gelu_erf, power_ref_gelu_tanh, power_ref_softplus};

static void test_nan_stays_nan(void **state) {
    (void)state;
    const uint32_t patterns[] = {0x7fc00000u, 0xffc00000u, 0x7f800001u, 0xff8001ffu, 0x7fffffffu};
    for (size_t f = 0; f < sizeof functions / sizeof *functions; f++) {
        for (size_t p = 0; p < sizeof patterns / sizeof *patterns; p++) {
            float x;
            memcpy(&x, &patterns[p], sizeof x);
            if (!isnan(functions[f](x))) {
                fail_msg("function %zu of NaN %08x is %a", f, patterns[p], (double)functions[f](x));
            }
        }
    }
}

static void test_special_values(void **state) {
    (void)state;
    assert_true(power_ref_exp(0.0f) == 1.0f);
    assert_true(power_ref_exp(-INFINITY) == 0.0f && power_ref_exp(-87.5f) == 0.0f);
    assert_true(power_ref_exp(1000.0f) == power_ref_exp(87.0f));
    assert_true(power_ref_log(1.0f) == 0.0f);
    assert_true(power_ref_log(0.0f) == -INFINITY && power_ref_log(-0.0f) == -INFINITY);
    assert_true(power_ref_log(INFINITY) == INFINITY);
    assert_true(isnan(power_ref_log(-1.0f)) && isnan(power_ref_log(-INFINITY)));
    assert_true(power_ref_tanh(INFINITY) == 1.0f && power_ref_tanh(-INFINITY) == -1.0f);
    assert_true(power_ref_erf(INFINITY) == 1.0f && power_ref_erf(-INFINITY) == -1.0f);
    assert_true(signbit(power_ref_tanh(-0.0f)) && signbit(power_ref_erf(-0.0f)));
    assert_true(power_ref_sigmoid(0.0f) == 0.5f && power_ref_silu(0.0f) == 0.0f);
    assert_true(power_ref_gelu_erf(0.0f) == 0.0f && power_ref_gelu_tanh(0.0f) == 0.0f);
    assert_true(power_ref_softplus(INFINITY) == INFINITY);
    assert_true(power_ref_softplus(-200.0f) == 0.0f && power_ref_softplus(100.0f) == 100.0f);
}

/* Every half widens to a value that rounds back to it; between neighbours ties go to even. */
static void test_halves(void **state) {
    (void)state;
    for (uint32_t h = 0; h < 0x7c00u; h++) {
        const float here = power_half_to_float((uint16_t)h);
        const double wanted =
            h < 1024 ? ldexp(h, -24) : ldexp(1024 + h % 1024, (int)(h / 1024) - 25);
        assert_true((double)here == wanted);
        assert_int_equal(power_float_to_half(here), h);
        assert_int_equal(power_float_to_half(-here), h | 0x8000u);
        const float next = h == 0x7bffu ? 65536.0f : power_half_to_float((uint16_t)(h + 1));
        const float middle = (float)(((double)here + (double)next) / 2.0);
        assert_int_equal(power_float_to_half(middle), h % 2 ? h + 1 : h);
        assert_int_equal(power_float_to_half(nextafterf(middle, 0.0f)), h);
        assert_int_equal(power_float_to_half(nextafterf(middle, INFINITY)), h + 1);
    }
    assert_int_equal(power_float_to_half(INFINITY), 0x7c00u);
    assert_int_equal(power_float_to_half(-1e30f), 0xfc00u);
    assert_true(isinf(power_half_to_float(0x7c00u)) && isnan(power_half_to_float(0x7e01u)));
    assert_true((power_float_to_half(NAN) & 0x7c00u) == 0x7c00u &&
                power_float_to_half(NAN) & 0x3ffu);
    assert_true(power_bfloat_to_float(0x3fc0u) == 1.5f);
}

static void test_doubles(void **state) {
    (void)state;
    for (int i = 0; i <= 200000; i++) {
        const double x = -60.0 + 120.0 * i / 200000, y = exp(x);
        assert_true(fabs(power_exp_double(x) / y - 1.0) < 1e-15);
        assert_true(fabs(power_log_double(y) - log(y)) <= 1e-15 * fmax(fabs(log(y)), 1e-3));
        const double angle = i % 2 ? x * 1e9 : x;
        double s, c;
        power_sincos_double(angle, &s, &c);
        assert_true(fabs(s - sin(angle)) < 5e-16 && fabs(c - cos(angle)) < 5e-16);
    }
    assert_true(power_exp_double(0.0) == 1.0 && power_log_double(1.0) == 0.0);
}

static void test_rotary(void **state) {
    (void)state;
    const float inv_freq[2] = {1.0f, 0.01f};
    float row[4];
    power_rope_row(inv_freq, 2, 100000, 2.0, row);
    for (int i = 0; i < 2; i++) {
        const double angle = 100000.0 * (double)inv_freq[i];
        assert_true(fabs((double)row[i] - 2.0 * cos(angle)) < 2e-7);
        assert_true(fabs((double)row[2 + i] - 2.0 * sin(angle)) < 2e-7);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sweeps),         cmocka_unit_test(test_nan_stays_nan),
        cmocka_unit_test(test_special_values), cmocka_unit_test(test_halves),
        cmocka_unit_test(test_doubles),        cmocka_unit_test(test_rotary),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
