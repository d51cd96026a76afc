/* SPDX-License-Identifier: MIT */
/* The turns of a conversation. Input: messages as they come. Output: a message list to render.
 * Owning thread: main. Bounds: TURNS_MAX messages. */
#ifndef POWER_CMD_CHAT_TURNS_H
#define POWER_CMD_CHAT_TURNS_H

#include "power/power.h"

#include <stdbool.h>

#define TURNS_MAX 4096

struct turns {
    power_message list[TURNS_MAX]; /* role static, content owned */
    size_t count;
};

bool turns_add(struct turns *t, const char *role, const char *content, size_t length);
/* Removes the oldest question and its answer; false when there is none. The system message stays.
 */
bool turns_drop(struct turns *t);
void turns_remove_last(struct turns *t);
/* Back to nothing but the system message. */
void turns_clear(struct turns *t);
void turns_finish(struct turns *t);

#endif
