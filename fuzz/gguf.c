/* SPDX-License-Identifier: MIT */
/* Fuzz target of the GGUF reader. Input: the bytes of a file. Output: none.
 * Threads: one. Bounds: those of fuzz/common.h. */
#include "common.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    fuzz_open(data, size);
    return 0;
}
