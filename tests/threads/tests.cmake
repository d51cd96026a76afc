# Several threads on one library; the TSan build runs these too.
power_test(threads ${POWER_TEST_DIR}/test_threads.c)
power_test_labels(threads tsan)
