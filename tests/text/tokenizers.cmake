add_executable(tokenize_lines ${POWER_TEST_DIR}/tokenize_lines.c)
target_link_libraries(tokenize_lines PRIVATE power_static)
power_script_test(tokenizers_agree ${POWER_PYTHON} ${POWER_TEST_DIR}/tokenizers_agree.py
                  $<TARGET_FILE:tokenize_lines> 300)
power_script_test(tokenizers_agree_long ${POWER_PYTHON} ${POWER_TEST_DIR}/tokenizers_agree.py
                  $<TARGET_FILE:tokenize_lines> 2000)
power_test_labels(tokenizers_agree_long full)

# Mistral's vocabularies, where the PyPI package mistral-common is at hand.
power_script_test(mistral_agree ${POWER_PYTHON} ${POWER_TEST_DIR}/mistral_agree.py
                  $<TARGET_FILE:tokenize_lines> 2000)
power_test_labels(mistral_agree full)

# The sets of characters, every code point.
add_executable(charsets ${POWER_TEST_DIR}/charsets.c)
target_link_libraries(charsets PRIVATE power_static)
power_script_test(charsets ${POWER_PYTHON} ${POWER_TEST_DIR}/charsets.py $<TARGET_FILE:charsets>)
power_test_labels(charsets full)
