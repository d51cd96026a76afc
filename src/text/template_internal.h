/* SPDX-License-Identifier: MIT */
/* What the two files of templates as objects share. Input and output: see each function.
 * Threads: one per rendering. Bounds: the rendering's. */
#ifndef POWER_TEXT_TEMPLATE_INTERNAL_H
#define POWER_TEXT_TEMPLATE_INTERNAL_H

#include "text/jinja.h"

/* Fills r->context. */
bool power_template_variables(struct jinja_render *r, const struct power_template_input *input);
/* How much of a rendered text stays when the answer is to go on with the last message. */
bool power_template_cut(struct jinja_render *r, struct power_text text, size_t *out_length);

#endif
