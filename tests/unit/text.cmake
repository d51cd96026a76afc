power_test(vocab_golden ${POWER_TEST_DIR}/test_vocab_golden.c)
power_test(template_golden ${POWER_TEST_DIR}/test_template_golden.c)
power_test(vocab ${POWER_TEST_DIR}/test_vocab.c)
power_test(template ${POWER_TEST_DIR}/test_template.c)
