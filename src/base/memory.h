/* SPDX-License-Identifier: MIT */
/* Memory: the allocator in force, arenas and growable buffers.
 * Input: an allocator (the runtime's, or power_default_allocator). Output: zeroed memory or NULL.
 * Threads: allocator any; an arena or buffer belongs to one thread at a time.
 * Bounds: every arena and every buffer declares its maximum when it is made. */
#ifndef POWER_BASE_MEMORY_H
#define POWER_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* malloc-backed; used where the caller of power_runtime_open gave none. */
extern const power_allocator power_default_allocator;

/* Zeroed; alignment 64. NULL when there is no memory or count * size overflows. */
void *power_alloc(const power_allocator *allocator, size_t count, size_t size);
/* `memory` may be NULL; count and size as given to power_alloc. */
void power_release(const power_allocator *allocator, void *memory, size_t count, size_t size);

/* A chain of chunks, freed together. Chunks start at 4 KiB and double up to 1 MiB; a larger request
 * gets a chunk of its own. Under ASan the unused part of each chunk is poisoned. */
struct power_arena_chunk;
struct power_arena {
    const power_allocator *allocator;
    struct power_arena_chunk *head;
    size_t used_bytes; /* handed out, alignment included */
    size_t max_bytes;  /* power_arena_alloc returns NULL rather than pass this */
};

void power_arena_init(struct power_arena *arena, const power_allocator *allocator,
                      size_t max_bytes);
/* Zeroed, aligned to 16. NULL when the maximum or the memory is exhausted, or on overflow. */
void *power_arena_alloc(struct power_arena *arena, size_t count, size_t size);
/* Copies `length` bytes and appends a NUL. */
char *power_arena_text(struct power_arena *arena, const char *text, size_t length);
/* Whether `memory` lies in what the arena handed out; linear in the chunks. */
bool power_arena_holds(const struct power_arena *arena, const void *memory);
/* Forgets everything, keeps nothing. The arena can be used again. Accepts a zeroed struct. */
void power_arena_finish(struct power_arena *arena);

/* Growable bytes. A failed append leaves the content as it was. `bytes` has a NUL after `length`
 * once anything was appended (not counted). */
struct power_buffer {
    const power_allocator *allocator;
    char *bytes;
    size_t length;
    size_t capacity;
    size_t max_bytes;
};

void power_buffer_init(struct power_buffer *buffer, const power_allocator *allocator,
                       size_t max_bytes);
bool power_buffer_append(struct power_buffer *buffer, const void *bytes, size_t length);
bool power_buffer_reserve(struct power_buffer *buffer, size_t more_bytes);
void power_buffer_clear(struct power_buffer *buffer);
void power_buffer_finish(struct power_buffer *buffer);

#endif
