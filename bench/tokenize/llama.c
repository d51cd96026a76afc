/* SPDX-License-Identifier: MIT */
/* Job: the same as ours.c with libllama (llama.cpp), through its public C interface.
 * Input: a model, a text, bytes of a chunk, passes. Output: a line a pass: seconds, tokens, sum.
 * Threads: one. Bounds: texts that fit in memory. */
#include <llama.h>

#include "chunks.h"

static void be_silent(enum ggml_log_level level, const char *text, void *data) {
    (void)level;
    (void)text;
    (void)data;
}

int main(int argc, char **argv) {
    struct chunks chunks;
    if (argc != 5 || !chunks_read(&chunks, argv[2], strtoul(argv[3], NULL, 10))) return 2;
    llama_log_set(be_silent, NULL);
    double start = chunks_now();
    llama_backend_init();
    struct llama_model_params params = llama_model_default_params();
    params.vocab_only = true;
    struct llama_model *model = llama_model_load_from_file(argv[1], params);
    if (!model) return 1;
    const struct llama_vocab *vocab = llama_model_get_vocab(model);
    printf("load %.6f\n", chunks_now() - start);
    llama_token *ids = malloc((chunks.longest + 16) * sizeof *ids);
    for (unsigned long pass = 0; ids && pass < strtoul(argv[4], NULL, 10); pass++) {
        size_t tokens = 0;
        uint64_t sum = 0;
        double spent = 0;
        for (size_t i = 0; i < chunks.count; i++) {
            size_t length = chunks.starts[i + 1] - chunks.starts[i];
            double before = chunks_now();
            int32_t count = llama_tokenize(vocab, chunks.bytes + chunks.starts[i], (int32_t)length,
                                           ids, (int32_t)chunks.longest + 16, false, false);
            spent += chunks_now() - before;
            if (count < 0) return 1;
            sum = chunks_sum(sum, (const uint32_t *)ids, (size_t)count);
            tokens += (size_t)count;
        }
        printf("%.6f %zu %016llx\n", spent, tokens, (unsigned long long)sum);
    }
    free(ids);
    llama_model_free(model);
    chunks_free(&chunks);
    return 0;
}
