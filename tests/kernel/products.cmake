power_test(products ${POWER_TEST_DIR}/test_products.c)
