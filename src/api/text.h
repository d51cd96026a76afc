/* SPDX-License-Identifier: MIT */
/* What the public functions on text share.
 * Input and output: see each function. Threads: any. Bounds: POWER_API_TEXT_BYTES a text. */
#ifndef POWER_API_TEXT_H
#define POWER_API_TEXT_H

#include "api/runtime.h"

#define POWER_API_TEXT_BYTES ((size_t)256 << 20)

/* POWER_OK, or why the model has no vocabulary. */
power_status power_api_need_vocab(const power_model *model, power_error *error) POWER_MUST_USE;
/* Hands a text over under the common rule: the length always, the bytes when they and a NUL fit. */
power_status power_api_hand_over(const struct power_buffer *buffer, char *out, size_t capacity,
                                 size_t *out_bytes, power_error *error) POWER_MUST_USE;

#endif
