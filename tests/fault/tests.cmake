power_test(fault_memory ${POWER_TEST_DIR}/test_memory.c)
