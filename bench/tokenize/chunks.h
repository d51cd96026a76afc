/* SPDX-License-Identifier: MIT */
/* A text in chunks that end at a line or at a character, the clock and the sum of ids: the same for
 * each program of bench/tokenize.
 * Input: a file. Output: offsets. Threads: one. Bounds: the file in memory. */
#ifndef POWER_BENCH_TOKENIZE_CHUNKS_H
#define POWER_BENCH_TOKENIZE_CHUNKS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct chunks {
    char *bytes;
    size_t *starts; /* count + 1 */
    size_t count, longest;
};

static inline double chunks_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static inline uint64_t chunks_sum(uint64_t sum, const uint32_t *ids, size_t count) {
    for (size_t i = 0; i < count; i++)
        sum = (sum ^ ids[i]) * 0x100000001B3u;
    return sum;
}

/* A chunk is at least `size` bytes and ends behind a newline, or else before a lead byte. */
static inline bool chunks_read(struct chunks *chunks, const char *path, size_t size) {
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0) return false;
    size_t length = (size_t)ftell(file);
    rewind(file);
    *chunks = (struct chunks){.bytes = (char *)malloc(length + 1),
                              .starts = (size_t *)calloc(length / size + 2, sizeof(size_t))};
    if (!chunks->bytes || fread(chunks->bytes, 1, length, file) != length) return false;
    fclose(file);
    for (size_t at = 0; at < length;) {
        size_t end = at + size < length ? at + size : length, limit = end + size;
        while (end < length && end < limit && chunks->bytes[end - 1] != '\n')
            end++;
        while (end < length && ((unsigned char)chunks->bytes[end] & 0xC0) == 0x80)
            end++;
        if (end - at > chunks->longest) chunks->longest = end - at;
        at = chunks->starts[++chunks->count] = end;
    }
    return true;
}

static inline void chunks_free(struct chunks *chunks) {
    free(chunks->bytes);
    free(chunks->starts);
}

#endif
