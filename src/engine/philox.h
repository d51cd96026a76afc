/* SPDX-License-Identifier: MIT */
/* Philox4x32-10: a counter and a key to four random words (Salmon, Moraes, Dror, Shaw: "Parallel
 * random numbers: as easy as 1, 2, 3", SC 2011). Input: counter, key. Output: four words, the same
 * anywhere. Threads: any; nothing is kept. Bounds: none needed. */
#ifndef POWER_ENGINE_PHILOX_H
#define POWER_ENGINE_PHILOX_H

#include <stdint.h>

struct power_philox {
    uint32_t word[4];
};

static inline struct power_philox power_philox(struct power_philox counter, uint32_t key0,
                                               uint32_t key1) {
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)0xD2511F53u * counter.word[0];
        uint64_t b = (uint64_t)0xCD9E8D57u * counter.word[2];
        struct power_philox next = {{(uint32_t)(b >> 32) ^ counter.word[1] ^ key0, (uint32_t)b,
                                     (uint32_t)(a >> 32) ^ counter.word[3] ^ key1, (uint32_t)a}};
        counter = next;
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
    return counter;
}

#endif
