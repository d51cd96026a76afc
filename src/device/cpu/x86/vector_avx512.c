/* SPDX-License-Identifier: MIT */
/* Vector kernels for AVX-512 (F, BW, DQ, VL): the bodies under this file's flags.
 * Input, output, threads, bounds: as there. */
#include "device/cpu/x86/reduce_impl.h"

#include "device/cpu/x86/append_impl.h"
#include "device/cpu/x86/pointwise_impl.h"
#include "device/cpu/x86/state_impl.h"
