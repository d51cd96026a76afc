power_test(plan ${POWER_TEST_DIR}/test_plan.c ${POWER_TEST_DIR}/plan_kit.c)
power_test_labels(plan tsan)
