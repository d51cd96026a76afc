/* SPDX-License-Identifier: MIT */
/* A thousand rounds of open, generate, close do not grow memory.
 * Input: a tiny model. Output: resident bytes before and after. Threads: one and the library's.
 * Bounds: under a sanitizer, whose own memory grows, fewer rounds and no look at resident bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "os/os.h"
#include "power/session.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ROUNDS 100u
#define LOOKS 0
#else
#define ROUNDS 1000u
#define LOOKS 1
#endif
#define WARM_ROUNDS 100u
#define GROWTH_BYTES ((uint64_t)4 << 20) /* 4 KB a round would show */

static void one_round(power_runtime *runtime, uint32_t round) {
    const uint32_t ids[] = {20 + round % 200, 30, 40};
    power_model *model = NULL;
    power_session *session = NULL;
    power_error error;
    power_model_options options;
    power_generate_options generate;
    power_model_options_init(&options);
    options.verify = round % 10 ? POWER_VERIFY_NEVER : POWER_VERIFY_ALWAYS;
    options.max_sequences = 2;
    assert_int_equal(power_model_open(runtime, POWER_TEST_DATA "/tiny-models/llama/model.gguf",
                                      &options, &model, &error),
                     POWER_OK);
    assert_int_equal(power_session_open(model, NULL, &session, &error), POWER_OK);
    power_generate_options_init(&generate);
    generate.ids = ids;
    generate.n_ids = 3;
    generate.max_tokens = 4;
    generate.ignore_end_tokens = 1;
    assert_int_equal(power_generate(session, &generate, NULL, &error), POWER_OK);
    power_session_close(session);
    power_model_close(model);
}

static void rounds_do_not_grow_memory(void **state) {
    power_runtime *runtime = NULL;
    power_runtime_options options;
    power_error error;
    uint64_t before = 0;
    (void)state;
    power_runtime_options_init(&options);
    options.threads = 2;
    assert_int_equal(power_runtime_open(&options, &runtime, &error), POWER_OK);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        if (round == WARM_ROUNDS) before = power_memory_resident();
        one_round(runtime, round);
    }
    uint64_t after = power_memory_resident();
    if (LOOKS) assert_true(after < before + GROWTH_BYTES);
    power_runtime_close(runtime);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(rounds_do_not_grow_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
