/* SPDX-License-Identifier: MIT */
/* Blocks of the types whose float step is 32 or 16 elements: codes and scales.
 * Input: one block of the type's size. Output: a power_ref_unit. Threads: any. Bounds: the block.
 */
#include "device/cpu/ref/ref.h"

const int8_t power_iq4_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                     1,    13,   25,  38,  53,  69,  89,  113};
const int8_t power_e2m1_doubled[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

static void begin(struct power_ref_unit *out, uint32_t step, uint32_t n_steps, float dw) {
    *out = (struct power_ref_unit){.step = step};
    for (uint32_t s = 0; s < n_steps; s++) {
        out->dw[s] = dw;
    }
    for (uint32_t i = 0; i < 16; i++) {
        out->sub[i] = 1;
    }
}

/* Element i < 16 sits in the low nibble of byte i, element i + 16 in the high one. */
static void nibbles(const unsigned char *bytes, const unsigned char *high_bits, int offset,
                    int8_t *code) {
    const uint32_t high = high_bits ? power_load_u32(high_bits) : 0;
    for (uint32_t i = 0; i < 32; i++) {
        const int low = i < 16 ? bytes[i] & 15 : bytes[i - 16] >> 4;
        code[i] = (int8_t)((low | (int)(high >> i & 1u) << 4) - offset);
    }
}

static void table_nibbles(const unsigned char *bytes, uint32_t half, const int8_t *table,
                          int8_t *code) {
    for (uint32_t i = 0; i < half; i++) {
        code[i] = table[bytes[i] & 15];
        code[i + half] = table[bytes[i] >> 4];
    }
}

/* half d, 16 bytes of nibbles; q - 8 */
void power_ref_decode_q4_0(const unsigned char *block, struct power_ref_unit *out) {
    begin(out, 32, 1, power_ref_half_at(block));
    nibbles(block + 2, NULL, 8, out->code);
}

/* half d, half m, 16 bytes of nibbles */
void power_ref_decode_q4_1(const unsigned char *block, struct power_ref_unit *out) {
    begin(out, 32, 1, power_ref_half_at(block));
    out->has_m = true;
    out->m = power_ref_half_at(block + 2);
    nibbles(block + 4, NULL, 0, out->code);
}

/* half d, 32 fifth bits, 16 bytes of nibbles; q - 16 */
void power_ref_decode_q5_0(const unsigned char *block, struct power_ref_unit *out) {
    begin(out, 32, 1, power_ref_half_at(block));
    nibbles(block + 6, block + 2, 16, out->code);
}

/* half d, half m, 32 fifth bits, 16 bytes of nibbles */
void power_ref_decode_q5_1(const unsigned char *block, struct power_ref_unit *out) {
    begin(out, 32, 1, power_ref_half_at(block));
    out->has_m = true;
    out->m = power_ref_half_at(block + 2);
    nibbles(block + 8, block + 4, 0, out->code);
}

/* half d, 32 int8 */
void power_ref_decode_q8_0(const unsigned char *block, struct power_ref_unit *out) {
    begin(out, 32, 1, power_ref_half_at(block));
    memcpy(out->code, block + 2, 32);
}

/* half d, half s (d times the sum of q, not needed here), 32 int8 */
void power_ref_decode_q8_1(const unsigned char *block, struct power_ref_unit *out) {
    begin(out, 32, 1, power_ref_half_at(block));
    memcpy(out->code, block + 4, 32);
}

/* half d, 16 bytes of nibbles into a table */
void power_ref_decode_iq4_nl(const unsigned char *block, struct power_ref_unit *out) {
    begin(out, 32, 1, power_ref_half_at(block));
    table_nibbles(block + 2, 16, power_iq4_values, out->code);
}

/* Half of 2^(e - 127), as a float of its own: e = 0 is subnormal, 255 is the format's NaN. */
static float half_of_e8m0(unsigned char e) {
    const uint32_t bits = e == 255 ? 0x7fc00000u
                          : e >= 2 ? (uint32_t)(e - 1) << 23
                                   : 0x200000u << e;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* one exponent byte, 16 bytes of nibbles: E2M1 */
void power_ref_decode_mxfp4(const unsigned char *block, struct power_ref_unit *out) {
    begin(out, 32, 1, half_of_e8m0(block[0]));
    table_nibbles(block + 1, 16, power_e2m1_doubled, out->code);
}

/* Half of an e4m3 scale without sign; 0x7f counts as 0, 0xff as 480. */
static float half_of_e4m3(unsigned char byte) {
    const uint32_t exponent = byte >> 3 & 15u, mantissa = byte & 7u;
    if (byte == 0x7f) {
        return 0.0f;
    }
    if (exponent == 0) {
        return (float)mantissa * 0x1p-10f;
    }
    const uint32_t bits = (exponent + 119u) << 23 | mantissa << 20;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* four e4m3 scales of 16 elements, then 8 bytes of nibbles for each */
void power_ref_decode_nvfp4(const unsigned char *block, struct power_ref_unit *out) {
    begin(out, 16, 4, 0.0f);
    for (uint32_t s = 0; s < 4; s++) {
        out->dw[s] = half_of_e4m3(block[s]);
        table_nibbles(block + 4 + 8 * s, 8, power_e2m1_doubled, out->code + 16 * s);
    }
}

/* half d, 128 bits: set is +1, clear is -1 */
void power_ref_decode_q1_0(const unsigned char *block, struct power_ref_unit *out) {
    begin(out, 32, 4, power_ref_half_at(block));
    for (uint32_t i = 0; i < 128; i++) {
        out->code[i] = (int8_t)(2 * (block[2 + i / 8] >> i % 8 & 1) - 1);
    }
}

/* half d, 64 codes of two bits; q - 1 */
void power_ref_decode_q2_0(const unsigned char *block, struct power_ref_unit *out) {
    begin(out, 32, 2, power_ref_half_at(block));
    for (uint32_t i = 0; i < 64; i++) {
        out->code[i] = (int8_t)((block[2 + i / 4] >> 2 * (i % 4) & 3) - 1);
    }
}
