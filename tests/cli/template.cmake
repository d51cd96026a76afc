if(TARGET power)
  power_script_test(cli_template sh -c
    "if test ! -x \"$0\"
     then echo 'SKIP: no Python environment in .venv'
     exit 77
     fi
     exec \"$0\" \"$@\""
    ${POWER_PYTHON} ${POWER_TEST_DIR}/test_template.py $<TARGET_FILE:power> ${POWER_TEST_DATA})
endif()
