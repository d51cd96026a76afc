/* SPDX-License-Identifier: MIT */
/* Every block type decodes to its reference values, bit for bit.
 * Input: tests/data/quants. Output: cmocka's verdict. Thread: one. Bounds: files of at most 1 MiB.
 */
#include "device/cpu/kernels.h"
#include "device/device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define FILE_LIMIT (1u << 20)

static unsigned char *read_file(const char *name, const char *suffix, size_t *out_length) {
    char path[512];
    snprintf(path, sizeof path, "%s/quants/%s.%s", POWER_TEST_DATA, name, suffix);
    FILE *file = fopen(path, "rb");
    if (!file) {
        return NULL;
    }
    unsigned char *bytes = malloc(FILE_LIMIT);
    assert_non_null(bytes);
    *out_length = fread(bytes, 1, FILE_LIMIT, file);
    assert_true(*out_length < FILE_LIMIT);
    fclose(file);
    return bytes;
}

static bool is_plain(uint32_t id) {
    return id == POWER_DTYPE_F32 || id == POWER_DTYPE_F64 ||
           (id >= POWER_DTYPE_I8 && id <= POWER_DTYPE_I64);
}

static void check_type(const struct power_cpu_kernels *kernels, uint32_t id) {
    const struct power_dtype_info info = power_dtype_info(id);
    size_t length = 0, wanted_length = 0;
    unsigned char *blocks = read_file(info.name, "bin", &length);
    unsigned char *wanted = read_file(info.name, "f32", &wanted_length);
    if (!blocks || !wanted) {
        fail_msg("%s: no reference values", info.name);
    }
    assert_int_equal(length % info.block_bytes, 0);
    const size_t k = length / info.block_bytes * info.block_elements;
    assert_int_equal(wanted_length, k * sizeof(float));
    float *values = calloc(k + 1, sizeof *values);
    assert_non_null(values);
    values[k] = 12345.0f; /* a canary */
    kernels->dequantise((enum power_dtype)id, blocks, k, values);
    for (size_t i = 0; i < k; i++) {
        if (memcmp(&values[i], wanted + i * sizeof(float), sizeof(float)) != 0) {
            float w;
            memcpy(&w, wanted + i * sizeof w, sizeof w);
            fail_msg("%s: element %zu is %a, the reference %a", info.name, i, (double)values[i],
                     (double)w);
        }
    }
    assert_true(values[k] == 12345.0f);
    free(values);
    free(blocks);
    free(wanted);
}

static uint32_t check_all(const struct power_cpu_kernels *kernels) {
    uint32_t types = 0;
    for (uint32_t id = 0; id < POWER_DTYPE_LIMIT; id++) {
        if (power_dtype_info(id).name && !is_plain(id)) {
            check_type(kernels, id);
            types++;
        }
    }
    return types;
}

static void test_reference_decodes_all(void **state) {
    (void)state;
    struct power_cpu_kernels kernels;
    power_kernels_ref(&kernels);
    assert_int_equal(check_all(&kernels), 29);
}

static void test_every_table_decodes_all(void **state) {
    (void)state;
    const uint32_t masks[] = {POWER_CPU_AVX2, POWER_CPU_AVX2 | POWER_CPU_AVX512, UINT32_MAX};
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        struct power_cpu_kernels kernels;
        power_cpu_kernels_init(&kernels, power_cpu_features() & masks[i]);
        assert_int_equal(check_all(&kernels), 29);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reference_decodes_all),
        cmocka_unit_test(test_every_table_decodes_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
