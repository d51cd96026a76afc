/* SPDX-License-Identifier: MIT */
/* Memory: the default allocator, arenas, growable buffers.
 * Input: an allocator and maxima. Output: zeroed memory, or NULL / false.
 * Threads: an arena or a buffer belongs to one thread at a time.
 * Bounds: max_bytes of each arena and buffer; sizes are checked before they are used. */
#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

#if defined(__SANITIZE_ADDRESS__)
#define POWER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define POWER_ASAN 1
#endif
#endif
#ifdef POWER_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, length) ((void)(at), (void)(length))
#define ASAN_UNPOISON_MEMORY_REGION(at, length) ((void)(at), (void)(length))
#endif

enum {
    MEMORY_ALIGNMENT = 64,
    ARENA_ALIGNMENT = 16,
    ARENA_CHUNK_FIRST = 4096,
    ARENA_CHUNK_LAST = 1 << 20,
    BUFFER_FIRST = 64
};

static void *default_alloc(void *context, size_t bytes, size_t alignment) {
    (void)context;
    size_t rounded;
    if (!power_align_size(bytes, alignment, &rounded)) return NULL;
    return aligned_alloc(alignment, rounded);
}

static void default_release(void *context, void *memory, size_t bytes, size_t alignment) {
    (void)context;
    (void)bytes;
    (void)alignment;
    free(memory);
}

const power_allocator power_default_allocator = {NULL, default_alloc, default_release};

/* An empty request still gets an address of its own. */
static bool request_bytes(size_t count, size_t size, size_t *out) {
    if (!power_mul_size(count, size, out)) return false;
    if (*out == 0) *out = 1;
    return true;
}

void *power_alloc(const power_allocator *allocator, size_t count, size_t size) {
    size_t bytes;
    if (!request_bytes(count, size, &bytes)) return NULL;
    void *memory = allocator->alloc(allocator->context, bytes, MEMORY_ALIGNMENT);
    if (memory) memset(memory, 0, bytes);
    return memory;
}

void power_release(const power_allocator *allocator, void *memory, size_t count, size_t size) {
    size_t bytes;
    if (!memory) return;
    bool valid = request_bytes(count, size, &bytes);
    assert(valid);
    if (valid) allocator->release(allocator->context, memory, bytes, MEMORY_ALIGNMENT);
}

/* ---- arenas ---- */

/* The payload follows at PAYLOAD bytes, aligned as the chunk is. */
struct power_arena_chunk {
    struct power_arena_chunk *next;
    size_t capacity, used;
};

enum { PAYLOAD = MEMORY_ALIGNMENT };
_Static_assert(sizeof(struct power_arena_chunk) <= PAYLOAD, "the header fits before the payload");

static unsigned char *payload(struct power_arena_chunk *chunk) {
    return (unsigned char *)chunk + PAYLOAD;
}

void power_arena_init(struct power_arena *arena, const power_allocator *allocator,
                      size_t max_bytes) {
    *arena = (struct power_arena){.allocator = allocator, .max_bytes = max_bytes};
}

/* A new head that holds `bytes`; or, for a large request, a full chunk behind the head, so that
 * what is left of the head stays in use. */
static struct power_arena_chunk *arena_grow(struct power_arena *arena, size_t bytes) {
    size_t regular = ARENA_CHUNK_FIRST;
    if (arena->head && arena->head->capacity >= ARENA_CHUNK_FIRST - PAYLOAD) {
        regular = (arena->head->capacity + PAYLOAD) * 2;
    }
    if (regular > ARENA_CHUNK_LAST) regular = ARENA_CHUNK_LAST;
    bool own = bytes > regular - PAYLOAD;
    size_t total;
    if (!power_add_size(own ? bytes : regular - PAYLOAD, PAYLOAD, &total)) return NULL;
    struct power_arena_chunk *chunk = power_alloc(arena->allocator, 1, total);
    if (!chunk) return NULL;
    chunk->capacity = total - PAYLOAD;
    if (own && arena->head) {
        chunk->next = arena->head->next;
        arena->head->next = chunk;
    } else {
        chunk->next = arena->head;
        arena->head = chunk;
    }
    ASAN_POISON_MEMORY_REGION(payload(chunk), chunk->capacity);
    return chunk;
}

void *power_arena_alloc(struct power_arena *arena, size_t count, size_t size) {
    size_t bytes, rounded, total;
    if (!request_bytes(count, size, &bytes)) return NULL;
    if (!power_align_size(bytes, ARENA_ALIGNMENT, &rounded)) return NULL;
    if (!power_add_size(arena->used_bytes, rounded, &total) || total > arena->max_bytes) {
        return NULL;
    }
    struct power_arena_chunk *chunk = arena->head;
    if (!chunk || rounded > chunk->capacity - chunk->used) {
        chunk = arena_grow(arena, rounded);
        if (!chunk) return NULL;
    }
    unsigned char *memory = payload(chunk) + chunk->used;
    ASAN_UNPOISON_MEMORY_REGION(memory, bytes);
    chunk->used += rounded;
    arena->used_bytes = total;
    return memory;
}

char *power_arena_text(struct power_arena *arena, const char *text, size_t length) {
    size_t bytes;
    if (!power_add_size(length, 1, &bytes)) return NULL;
    char *copy = power_arena_alloc(arena, bytes, 1);
    if (copy && length) memcpy(copy, text, length);
    return copy;
}

bool power_arena_holds(const struct power_arena *arena, const void *memory) {
    uintptr_t at = (uintptr_t)memory;
    for (const struct power_arena_chunk *chunk = arena->head; chunk; chunk = chunk->next) {
        uintptr_t start = (uintptr_t)chunk + PAYLOAD;
        if (at >= start && at - start < chunk->used) return true;
    }
    return false;
}

void power_arena_finish(struct power_arena *arena) {
    struct power_arena_chunk *chunk = arena->head;
    while (chunk) {
        struct power_arena_chunk *next = chunk->next;
        size_t total = chunk->capacity + PAYLOAD;
        ASAN_UNPOISON_MEMORY_REGION(payload(chunk), chunk->capacity);
        power_release(arena->allocator, chunk, 1, total);
        chunk = next;
    }
    arena->head = NULL;
    arena->used_bytes = 0;
}

/* ---- buffers ---- */

void power_buffer_init(struct power_buffer *buffer, const power_allocator *allocator,
                       size_t max_bytes) {
    *buffer = (struct power_buffer){.allocator = allocator, .max_bytes = max_bytes};
}

bool power_buffer_reserve(struct power_buffer *buffer, size_t more_bytes) {
    size_t length, needed;
    if (!power_add_size(buffer->length, more_bytes, &length)) return false;
    if (length > buffer->max_bytes) return false;
    if (!power_add_size(length, 1, &needed)) return false;
    if (needed <= buffer->capacity) return true;
    size_t limit, capacity = buffer->capacity ? buffer->capacity : BUFFER_FIRST;
    if (!power_add_size(buffer->max_bytes, 1, &limit)) limit = SIZE_MAX;
    while (capacity < needed) {
        if (!power_mul_size(capacity, 2, &capacity)) capacity = needed;
    }
    if (capacity > limit) capacity = limit;
    char *bytes = power_alloc(buffer->allocator, capacity, 1);
    if (!bytes) return false;
    if (buffer->length) memcpy(bytes, buffer->bytes, buffer->length);
    power_release(buffer->allocator, buffer->bytes, buffer->capacity, 1);
    buffer->bytes = bytes;
    buffer->capacity = capacity;
    return true;
}

bool power_buffer_append(struct power_buffer *buffer, const void *bytes, size_t length) {
    if (!power_buffer_reserve(buffer, length)) return false;
    if (length) memcpy(buffer->bytes + buffer->length, bytes, length);
    buffer->length += length;
    buffer->bytes[buffer->length] = '\0';
    return true;
}

void power_buffer_clear(struct power_buffer *buffer) {
    buffer->length = 0;
    if (buffer->bytes) buffer->bytes[0] = '\0';
}

void power_buffer_finish(struct power_buffer *buffer) {
    power_release(buffer->allocator, buffer->bytes, buffer->capacity, 1);
    buffer->bytes = NULL;
    buffer->length = 0;
    buffer->capacity = 0;
}
