power_test(vocab_golden ${POWER_TEST_DIR}/test_vocab_golden.c)
