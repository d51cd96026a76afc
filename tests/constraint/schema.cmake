# JSON Schema: messages and limits, the cases, the published suite, and random schemas judged by
# Python's jsonschema.
power_test(schema ${POWER_TEST_DIR}/test_schema.c)
add_executable(schema_judge ${POWER_TEST_DIR}/schema_judge.c)
target_link_libraries(schema_judge PRIVATE power_static PkgConfig::JANSSON)
function(power_schema_script name script)
  power_script_test(${name} sh -c
    "if test ! -x \"$0\"
     then echo 'SKIP: no Python environment in .venv'
     exit 77
     fi
     exec \"$0\" \"$@\""
    ${POWER_PYTHON} ${POWER_TEST_DIR}/${script} $<TARGET_FILE:schema_judge> ${ARGN})
endfunction()
power_schema_script(schema_cases schema_cases.py ${POWER_TEST_DATA}/cases/schema.json)
power_schema_script(schema_suite schema_suite.py)
power_schema_script(schema_random schema_random.py 300)
power_schema_script(schema_random_long schema_random.py 6000 2)
power_test_labels(schema_random_long full)
