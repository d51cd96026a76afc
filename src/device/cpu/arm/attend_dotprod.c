/* SPDX-License-Identifier: MIT */
/* Attention for NEON with dotprod: the body of attend_impl.h under this file's flags.
 * Input, output, threads, bounds: as there. */
#define POWER_ATTEND_QUANTISE power_quantise_f32_neon
#include "device/cpu/x86/attend_impl.h"
