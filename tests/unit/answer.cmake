power_test(answer ${POWER_TEST_DIR}/test_answer.c)
power_test(answer_templates ${POWER_TEST_DIR}/test_answer_templates.c)
power_script_test(answer_data ${POWER_PYTHON} ${CMAKE_SOURCE_DIR}/tests/reference/write_answers.py
                  ${POWER_TEST_DATA}/answers --check)
power_test(answer_envelope ${POWER_TEST_DIR}/test_answer_envelope.c)
power_script_test(answer_calls ${POWER_PYTHON} ${CMAKE_SOURCE_DIR}/tests/reference/check_calls.py
                  $<TARGET_FILE:test_answer_envelope> ${POWER_TEST_DIR}/test_answer_envelope.c)
