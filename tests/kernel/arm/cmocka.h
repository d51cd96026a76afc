/* SPDX-License-Identifier: MIT */
/* The part of cmocka that the kernel tests use, for a processor that cmocka is not installed for.
 * Input: tests. Output: a line a test, the number of failures. Threads: one. Bounds: none. A failed
 * check ends its test, not the program. */
#ifndef POWER_TESTS_KERNEL_ARM_CMOCKA_H
#define POWER_TESTS_KERNEL_ARM_CMOCKA_H

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CMUnitTest {
    const char *name;
    void (*run)(void **state);
};
static jmp_buf cmocka_end_of_test;

#define cmocka_unit_test(function)                                                                 \
    { #function, function }
#define fail_msg(...)                                                                              \
    do {                                                                                           \
        printf("%s:%d: ", __FILE__, __LINE__);                                                     \
        printf(__VA_ARGS__);                                                                       \
        printf("\n");                                                                              \
        longjmp(cmocka_end_of_test, 1);                                                            \
    } while (0)
#define assert_true(condition)                                                                     \
    do {                                                                                           \
        if (!(condition)) fail_msg("not so: %s", #condition);                                      \
    } while (0)
#define assert_false(condition) assert_true(!(condition))
#define assert_non_null(pointer) assert_true((pointer) != NULL)
#define assert_int_equal(a, b) assert_true((a) == (b))
#define assert_memory_equal(a, b, bytes) assert_true(memcmp(a, b, bytes) == 0)

static inline int cmocka_run_one(const struct CMUnitTest *test, void **state) {
    if (setjmp(cmocka_end_of_test)) {
        printf("[  FAILED  ] %s\n", test->name);
        return 1;
    }
    test->run(state);
    printf("[       OK ] %s\n", test->name);
    return 0;
}

static inline int cmocka_run(const struct CMUnitTest *tests, size_t n, int (*set_up)(void **),
                             int (*tear_down)(void **)) {
    int failed = 0;
    void *state = NULL;
    if (set_up && set_up(&state)) return 1;
    for (size_t i = 0; i < n; i++) {
        failed += cmocka_run_one(&tests[i], &state);
        (void)fflush(stdout);
    }
    if (tear_down && tear_down(&state)) failed++;
    return failed;
}
#define cmocka_run_group_tests(tests, set_up, tear_down)                                           \
    cmocka_run(tests, sizeof(tests) / sizeof((tests)[0]), set_up, tear_down)

#endif
