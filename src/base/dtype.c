/* SPDX-License-Identifier: MIT */
/* The table of element types. Input: a type number of a file. Output: name and block geometry.
 * Threads: any. Bounds: any number may be asked for. */
#include "base/dtype.h"

#include <stddef.h>

struct power_dtype_info power_dtype_info(uint32_t id) {
    static const struct power_dtype_info table[POWER_DTYPE_LIMIT] = {
#define DTYPE_ROW(name, number, elements, bytes) [number] = {#name, elements, bytes},
        POWER_DTYPE_MAP(DTYPE_ROW)
#undef DTYPE_ROW
    };
    return id < POWER_DTYPE_LIMIT ? table[id] : (struct power_dtype_info){NULL, 0, 0};
}

const char *power_dtype_removed_name(uint32_t id) {
    switch (id) {
    case 4:
        return "Q4_2";
    case 5:
        return "Q4_3";
    case 31:
        return "Q4_0_4_4";
    case 32:
        return "Q4_0_4_8";
    case 33:
        return "Q4_0_8_8";
    case 36:
        return "IQ4_NL_4_4";
    case 37:
        return "IQ4_NL_4_8";
    case 38:
        return "IQ4_NL_8_8";
    default:
        return NULL;
    }
}
