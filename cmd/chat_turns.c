/* SPDX-License-Identifier: MIT */
/* See chat_turns.h. Job: keep the messages of a conversation. Input: messages. Output: the list.
 * Owning thread: main. Bounds: TURNS_MAX messages. */
#include "chat_turns.h"

#include <stdlib.h>
#include <string.h>

bool turns_add(struct turns *t, const char *role, const char *content, size_t length) {
    if (t->count == TURNS_MAX) return false;
    char *copy = malloc(length + 1);
    if (!copy) return false;
    memcpy(copy, content, length);
    copy[length] = 0;
    t->list[t->count++] = (power_message){role, copy};
    return true;
}

static void remove_at(struct turns *t, size_t at) {
    free((void *)(uintptr_t)t->list[at].content);
    memmove(t->list + at, t->list + at + 1, (t->count - at - 1) * sizeof t->list[0]);
    t->count--;
}

static size_t first_turn(const struct turns *t) {
    return t->count && !strcmp(t->list[0].role, "system");
}

bool turns_drop(struct turns *t) {
    size_t at = first_turn(t);
    if (at >= t->count) return false;
    remove_at(t, at);
    if (at < t->count && !strcmp(t->list[at].role, "assistant")) remove_at(t, at);
    return true;
}

void turns_remove_last(struct turns *t) {
    if (t->count) remove_at(t, t->count - 1);
}

void turns_clear(struct turns *t) {
    while (t->count > first_turn(t))
        remove_at(t, t->count - 1);
}

void turns_finish(struct turns *t) {
    while (t->count)
        remove_at(t, t->count - 1);
}
