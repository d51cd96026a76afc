power_test(quants ${POWER_TEST_DIR}/test_quants.c)
power_test(math ${POWER_TEST_DIR}/test_math.c)
power_test(ref_products ${POWER_TEST_DIR}/test_ref_products.c)
power_test(ref_ops ${POWER_TEST_DIR}/test_ref_ops.c)
