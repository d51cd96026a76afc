/* SPDX-License-Identifier: MIT */
/* Vector kernels for NEON: the bodies of x86/ over registers of 128 bits.
 * Input, output, threads, bounds: as there. */
#include "device/cpu/x86/reduce_impl.h"

#include "device/cpu/x86/append_impl.h"
#include "device/cpu/x86/pointwise_impl.h"
#include "device/cpu/x86/state_impl.h"
