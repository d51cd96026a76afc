# Pre-tokenizers against the published split expressions, run by PyPI's regex.
add_executable(test_split_print ${POWER_TEST_DIR}/split_print.c)
target_link_libraries(test_split_print PRIVATE power_static m)
power_script_test(split_agree ${POWER_PYTHON} ${POWER_TEST_DIR}/split_agree.py
                  $<TARGET_FILE:test_split_print> --texts 200)
power_script_test(split_agree_full ${POWER_PYTHON} ${POWER_TEST_DIR}/split_agree.py
                  $<TARGET_FILE:test_split_print> --texts 2000)
power_test_labels(split_agree_full full)
