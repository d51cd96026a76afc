# Pre-tokenizers against the published split expressions, run by PyPI's regex.
add_executable(test_split_print ${POWER_TEST_DIR}/split_print.c)
target_link_libraries(test_split_print PRIVATE power_static m)
power_script_test(split_agree ${POWER_PYTHON} ${POWER_TEST_DIR}/split_agree.py
                  $<TARGET_FILE:test_split_print> --texts 200)
power_script_test(split_agree_full ${POWER_PYTHON} ${POWER_TEST_DIR}/split_agree.py
                  $<TARGET_FILE:test_split_print> --texts 2000)
power_test_labels(split_agree_full full)

# Steps of the tokenizer are counted by the compiler: its sources once more, instrumented.
if(NOT POWER_SANITIZE)
  file(GLOB POWER_TOKENIZER_SOURCES ${CMAKE_SOURCE_DIR}/src/text/*.c)
  list(FILTER POWER_TOKENIZER_SOURCES EXCLUDE REGEX "/(jinja|template)[^/]*$")
  power_test(encode_growth ${POWER_TEST_DIR}/test_encode_growth.c ${POWER_TOKENIZER_SOURCES})
  target_compile_options(test_encode_growth PRIVATE -fsanitize-coverage=trace-pc)
endif()
