/* SPDX-License-Identifier: MIT */
/* Rotary tables: own exp, log, sine and cosine in double, so that every platform has the same bits.
 * Input: frequencies and positions. Output: binary32 rounded once. Threads: any. Bounds: |angle| <
 * 2^40. */
#ifndef POWER_BASE_ROTARY_H
#define POWER_BASE_ROTARY_H

#include <stdint.h>

double power_exp_double(double x);
double power_log_double(double x);
void power_sincos_double(double angle, double *out_sin, double *out_cos);
/* out: cos[n], then sin[n]; angle = (double)pos * (double)inv_freq[i]; times factor in double. */
void power_rope_row(const float *inv_freq, uint32_t n, uint64_t pos, double factor, float *out);

#endif
