power_test(fault_memory ${POWER_TEST_DIR}/test_memory.c)
power_test(fault_rounds ${POWER_TEST_DIR}/test_rounds.c)
