/* SPDX-License-Identifier: MIT */
/* The two halves of bringing a Hugging Face model to GGUF's keys: configuration and tensor names.
 * Input: a SafeTensors source. Output: added metadata. Threads: one. Bounds: see hf.c, hf_config.c.
 */
#ifndef POWER_FAMILY_HF_H
#define POWER_FAMILY_HF_H

#include "family/family.h"

/* GGUF architecture of a model_type of config.json, or NULL. */
const char *power_hf_architecture(const char *model_type);
/* Adds "general.architecture" and all "ARCH.*" keys that config.json implies. */
power_status power_hf_config(struct power_source *s, char out_arch[64],
                             power_error *error) POWER_MUST_USE;

#endif
