power_test(schedule ${POWER_TEST_DIR}/test_schedule.c)
power_test(sampler ${POWER_TEST_DIR}/test_sampler.c)
power_test(state ${POWER_TEST_DIR}/test_state.c)
power_test(engine ${POWER_TEST_DIR}/test_engine.c ${POWER_TEST_DIR}/engine_kit.c)
