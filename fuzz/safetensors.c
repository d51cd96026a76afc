/* SPDX-License-Identifier: MIT */
/* Fuzz target of the SafeTensors reader. Input: a byte that picks the way in, then a whole file
 * (0), a header to which length and data are added (1), or any JSON value to be skipped (2).
 * Output: none. Threads: one. Bounds: those of fuzz/common.h; 256 data bytes are added. */
#include <stdlib.h>

#include "common.h"
#include "format/json_scan.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

enum { ADDED_BYTES = 256 };

static void open_header(const unsigned char *header, size_t length) {
    size_t total = 8 + length + ADDED_BYTES;
    unsigned char *file = calloc(total, 1);
    if (!file) return;
    for (unsigned i = 0; i < 8; i++) {
        file[i] = (unsigned char)((uint64_t)length >> (8 * i));
    }
    if (length) memcpy(file + 8, header, length);
    fuzz_open(file, total);
    free(file);
}

static void skip_value(const unsigned char *text, size_t length) {
    char *copy = malloc(length + 1);
    if (!copy) return;
    if (length) memcpy(copy, text, length);
    struct power_json_scan scan;
    power_json_scan_init(&scan, copy, length);
    bool whole = power_json_scan_skip(&scan) && power_json_scan_end(&scan);
    if (whole == (scan.fault != NULL) || scan.at > length) __builtin_trap();
    free(copy);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    if (size == 0) return 0;
    switch (data[0] % 3) {
    case 0:
        fuzz_open(data + 1, size - 1);
        break;
    case 1:
        open_header(data + 1, size - 1);
        break;
    default:
        skip_value(data + 1, size - 1);
    }
    return 0;
}
