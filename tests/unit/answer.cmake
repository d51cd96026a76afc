power_test(answer_api ${POWER_TEST_DIR}/test_answer_api.c ${POWER_TEST_DIR}/../common/harness.c)
power_test(answer ${POWER_TEST_DIR}/test_answer.c)
power_test(answer_templates ${POWER_TEST_DIR}/test_answer_templates.c)
power_script_test(answer_data ${POWER_PYTHON} ${CMAKE_SOURCE_DIR}/tests/reference/write_answers.py
                  ${POWER_TEST_DATA}/answers --check)
power_test(answer_envelope ${POWER_TEST_DIR}/test_answer_envelope.c)
power_script_test(answer_calls ${POWER_PYTHON} ${CMAKE_SOURCE_DIR}/tests/reference/check_calls.py
                  $<TARGET_FILE:test_answer_envelope> ${POWER_TEST_DIR}/test_answer_envelope.c)
foreach(rounds 3 60)
  power_script_test(tool_calls_${rounds} sh -c
    "if test ! -x \"$0\" || test -z \"$POWER_TEST_QWEN05\"
     then echo 'SKIP: no Python environment in .venv, or no model in POWER_TEST_QWEN05'
          exit 77
     fi
     exec \"$0\" \"$1\" \"$2\" \"$POWER_TEST_QWEN05\" ${rounds}"
    ${POWER_PYTHON} ${CMAKE_SOURCE_DIR}/tests/cli/tool_calls.py $<TARGET_FILE:power>)
endforeach()
power_test_labels(tool_calls_60 full)
