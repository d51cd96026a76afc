power_test(vector ${POWER_TEST_DIR}/test_vector.c)
power_test(attend ${POWER_TEST_DIR}/test_attend.c)
