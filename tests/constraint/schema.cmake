# JSON Schema: the published suite, random schemas judged by Python's jsonschema, messages.
add_executable(schema_judge ${POWER_TEST_DIR}/schema_judge.c)
target_link_libraries(schema_judge PRIVATE power_static PkgConfig::JANSSON)
power_script_test(schema_suite sh -c
  "if test ! -x \"$0\"
   then echo 'SKIP: no Python environment in .venv'
   exit 77
   fi
   exec \"$0\" \"$@\""
  ${POWER_PYTHON} ${POWER_TEST_DIR}/schema_suite.py $<TARGET_FILE:schema_judge>)
