/* SPDX-License-Identifier: MIT */
/* Job: time the encoding of a text, for bench/tokenize/run.py.
 * Input: a model, a text, bytes of a chunk, passes. Output: a line a pass: seconds, tokens, a sum
 * of the ids in their order. Reading the vocabulary is timed apart (first line).
 * Threads: one. Bounds: texts that fit in memory. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "chunks.h"
#include "text/vocab.h"

static struct power_vocab *open_vocab(const char *path) {
    struct power_source_options options = {.use_mmap = true};
    struct power_source *source = NULL;
    struct power_vocab *vocab = NULL;
    power_error error = {0};
    if (power_source_open(&power_default_allocator, path, &options, &source, &error) != POWER_OK ||
        power_vocab_create(&power_default_allocator, source, &vocab, &error) != POWER_OK)
        fprintf(stderr, "%s\n", error.message);
    power_source_close(source);
    return vocab;
}

int main(int argc, char **argv) {
    if (argc != 5) return 2;
    struct chunks chunks;
    double start = chunks_now();
    struct power_vocab *vocab = open_vocab(argv[1]);
    if (!vocab || !chunks_read(&chunks, argv[2], strtoul(argv[3], NULL, 10))) return 1;
    printf("load %.6f\n", chunks_now() - start);
    struct power_tokenize_options options = {0};
    uint32_t *ids = malloc((chunks.longest + 16) * sizeof *ids);
    for (unsigned long pass = 0; ids && pass < strtoul(argv[4], NULL, 10); pass++) {
        size_t tokens = 0, count;
        uint64_t sum = 0;
        power_error error;
        double before = chunks_now(), spent = 0;
        for (size_t i = 0; i < chunks.count; i++) {
            struct power_text text = {chunks.bytes + chunks.starts[i],
                                      chunks.starts[i + 1] - chunks.starts[i]};
            before = chunks_now();
            if (power_vocab_encode(vocab, text, &options, ids, chunks.longest + 16, &count,
                                   &error) != POWER_OK)
                return 1;
            spent += chunks_now() - before;
            sum = chunks_sum(sum, ids, count);
            tokens += count;
        }
        printf("%.6f %zu %016llx\n", spent, tokens, (unsigned long long)sum);
    }
    free(ids);
    power_vocab_destroy(vocab);
    chunks_free(&chunks);
    return 0;
}
