/* SPDX-License-Identifier: MIT */
/* The version of the library. Input: the build's version. Output: static text.
 * Threads: any. Bounds: none. */
#include "power/status.h"

#ifndef POWER_VERSION_TEXT
#error "the build defines POWER_VERSION_TEXT"
#endif

const char *power_version(void) {
    return POWER_VERSION_TEXT;
}
