# Regular languages and the texts that define constraints; `classify` answers for the scripts.
add_executable(classify ${POWER_TEST_DIR}/classify.c)
target_link_libraries(classify PRIVATE power_static PkgConfig::JANSSON)
power_script_test(regex_random python3 ${POWER_TEST_DIR}/regex_random.py $<TARGET_FILE:classify> 2500)
power_script_test(regex_random_full python3 ${POWER_TEST_DIR}/regex_random.py
                  $<TARGET_FILE:classify> 20000 77)
power_test_labels(regex_random_full full)
power_script_test(formats ${POWER_PYTHON} ${POWER_TEST_DIR}/formats.py $<TARGET_FILE:classify>)
power_script_test(gbnf_examples python3 ${POWER_TEST_DIR}/gbnf_examples.py $<TARGET_FILE:classify>)
power_test(regular ${POWER_TEST_DIR}/test_regular.c)
power_test(gbnf ${POWER_TEST_DIR}/test_gbnf.c)
