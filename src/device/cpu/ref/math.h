/* SPDX-License-Identifier: MIT */
/* The scalar functions of the arithmetic profile: the text of the definition, in C.
 * Input: one binary32 (or double for rotary). Output: the defined bits. Threads: any. Bounds: none.
 */
#ifndef POWER_DEVICE_CPU_REF_MATH_H
#define POWER_DEVICE_CPU_REF_MATH_H

#include <stdint.h>

float power_ref_exp(float x);
float power_ref_log(float x);
float power_ref_tanh(float x);
float power_ref_erf(float x);
float power_ref_sigmoid(float x);
float power_ref_silu(float x);
float power_ref_gelu_erf(float x);
float power_ref_gelu_tanh(float x);
float power_ref_softplus(float x);

/* IEEE half <-> single, exact / nearest even; bfloat16 widening is exact. */
float power_half_to_float(uint16_t h);
uint16_t power_float_to_half(float x);
float power_bfloat_to_float(uint16_t b);

/* Double functions for rotary tables (own code, no libm): used by src/family and src/engine through
 * base/rotary.h, which holds the implementation. */

#endif
