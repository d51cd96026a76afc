/* SPDX-License-Identifier: MIT */
/* Blocks of the 256-element types with a grid: eight (IQ3: four) codes from one index.
 * Input: one block of the type's size. Output: a power_ref_unit. Threads: any. Bounds: the block;
 * an index has no more bits than its grid has entries. */
#include "device/cpu/ref/ref.h"

static void begin(struct power_ref_unit *out, float dw) {
    *out = (struct power_ref_unit){.step = 256};
    out->dw[0] = dw;
}

/* Copies n codes; bit i of `signs` set negates code i. */
static void put_signed(int8_t *code, const int8_t *entry, uint32_t n, uint32_t signs) {
    for (uint32_t i = 0; i < n; i++) {
        code[i] = (int8_t)(signs >> i & 1u ? -entry[i] : entry[i]);
    }
}

/* Seven stored signs; the eighth makes the number of set bits even. */
static uint32_t eight_signs(uint32_t seven) {
    uint32_t parity = seven ^ seven >> 4;
    parity ^= parity >> 2;
    parity ^= parity >> 1;
    return seven | (parity & 1u) << 7;
}

/* half d; for each 32 elements 4 index bytes and 32 bits: four times 7 signs, 4 bits of scale */
void power_ref_decode_iq2_xxs(const unsigned char *block, struct power_ref_unit *out) {
    begin(out, power_ref_half_at(block) * 0.125f);
    for (uint32_t j = 0; j < 8; j++) {
        const unsigned char *at = block + 2 + 8 * j;
        const uint32_t packed = power_load_u32(at + 4);
        out->sub[2 * j] = out->sub[2 * j + 1] = (int16_t)(2 * (packed >> 28) + 1);
        for (uint32_t g = 0; g < 4; g++) {
            put_signed(out->code + 32 * j + 8 * g, power_iq2_xxs_grid[at[g]], 8,
                       eight_signs(packed >> 7 * g & 127u));
        }
    }
}

/* half d, 32 words (9 bits of index, 7 signs), 8 bytes of two 4-bit scales for 16 elements each */
void power_ref_decode_iq2_xs(const unsigned char *block, struct power_ref_unit *out) {
    begin(out, power_ref_half_at(block) * 0.125f);
    for (uint32_t s = 0; s < 16; s++) {
        out->sub[s] = (int16_t)(2 * (block[66 + s / 2] >> 4 * (s % 2) & 15) + 1);
    }
    for (uint32_t g = 0; g < 32; g++) {
        const uint32_t word = power_ref_u16(block + 2 + 2 * g);
        put_signed(out->code + 8 * g, power_iq2_xs_grid[word & 511u], 8, eight_signs(word >> 9));
    }
}

/* half d, 32 low index bytes, 32 sign bytes, 8 bytes of high index bits, 8 of scales */
void power_ref_decode_iq2_s(const unsigned char *block, struct power_ref_unit *out) {
    begin(out, power_ref_half_at(block) * 0.125f);
    for (uint32_t s = 0; s < 16; s++) {
        out->sub[s] = (int16_t)(2 * (block[74 + s / 2] >> 4 * (s % 2) & 15) + 1);
    }
    for (uint32_t g = 0; g < 32; g++) {
        const uint32_t high = (uint32_t)block[66 + g / 4] >> 2 * (g % 4) & 3u;
        put_signed(out->code + 8 * g, power_iq2_s_grid[block[2 + g] | high << 8], 8, block[34 + g]);
    }
}

/* half d, 64 index bytes, for each 32 elements 32 bits: four times 7 signs, 4 bits of scale */
void power_ref_decode_iq3_xxs(const unsigned char *block, struct power_ref_unit *out) {
    begin(out, power_ref_half_at(block) * 0.25f);
    for (uint32_t j = 0; j < 8; j++) {
        const uint32_t packed = power_load_u32(block + 66 + 4 * j);
        out->sub[2 * j] = out->sub[2 * j + 1] = (int16_t)(2 * (packed >> 28) + 1);
        for (uint32_t g = 0; g < 8; g++) {
            const uint32_t signs = eight_signs(packed >> 7 * (g / 2) & 127u);
            put_signed(out->code + 32 * j + 4 * g, power_iq3_xxs_grid[block[2 + 8 * j + g]], 4,
                       signs >> 4 * (g % 2));
        }
    }
}

/* half d, 64 low index bytes, 8 bytes of ninth bits, 32 sign bytes, 4 bytes of scales */
void power_ref_decode_iq3_s(const unsigned char *block, struct power_ref_unit *out) {
    begin(out, power_ref_half_at(block));
    for (uint32_t s = 0; s < 16; s++) {
        out->sub[s] = (int16_t)(2 * (block[106 + s / 4] >> 4 * (s / 2 % 2) & 15) + 1);
    }
    for (uint32_t g = 0; g < 64; g++) {
        const uint32_t high = (uint32_t)block[66 + g / 8] >> g % 8 & 1u;
        put_signed(out->code + 4 * g, power_iq3_s_grid[block[2 + g] | high << 8], 4,
                   (uint32_t)block[74 + g / 2] >> 4 * (g % 2));
    }
}

/* 8 * grid + 1, or - 1: the shift of an eighth that IQ1 adds, in integers. */
static void put_shifted(int8_t *code, const int8_t *entry, bool down) {
    for (uint32_t i = 0; i < 8; i++) {
        code[i] = (int8_t)(8 * entry[i] + (down ? -1 : 1));
    }
}

/* half d, 32 low index bytes, 8 words: four times 3 high index bits, 3 bits of scale, shift's sign
 */
void power_ref_decode_iq1_s(const unsigned char *block, struct power_ref_unit *out) {
    begin(out, power_ref_half_at(block) * 0.125f);
    for (uint32_t j = 0; j < 8; j++) {
        const uint32_t word = power_ref_u16(block + 34 + 2 * j);
        out->sub[2 * j] = out->sub[2 * j + 1] = (int16_t)(2 * (word >> 12 & 7u) + 1);
        for (uint32_t g = 0; g < 4; g++) {
            const uint32_t index = block[2 + 4 * j + g] | (word >> 3 * g & 7u) << 8;
            put_shifted(out->code + 32 * j + 8 * g, power_iq1_grid[index], word >> 15);
        }
    }
}

/* 32 low index bytes, 16 bytes of two nibbles (3 high index bits, shift's sign), 4 words: four
 * times 3 bits of scale for 16 elements, and a nibble of d, the lowest first */
void power_ref_decode_iq1_m(const unsigned char *block, struct power_ref_unit *out) {
    uint32_t d = 0;
    for (uint32_t w = 0; w < 4; w++) {
        d |= (uint32_t)(power_ref_u16(block + 48 + 2 * w) >> 12) << 4 * w;
    }
    begin(out, power_half_to_float((uint16_t)d) * 0.125f);
    for (uint32_t s = 0; s < 16; s++) {
        const uint32_t word = power_ref_u16(block + 48 + 2 * (s / 4));
        out->sub[s] = (int16_t)(2 * (word >> 3 * (s % 4) & 7u) + 1);
    }
    for (uint32_t g = 0; g < 32; g++) {
        const uint32_t nibble = (uint32_t)block[32 + g / 2] >> 4 * (g % 2) & 15u;
        put_shifted(out->code + 8 * g, power_iq1_grid[block[g] | (nibble & 7u) << 8], nibble >> 3);
    }
}
