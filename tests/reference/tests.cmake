# The numpy forward pass with its rounding switched off equals the golden values. (A list: no semicolons.)
file(GLOB POWER_QUANTISED_MODELS ${POWER_TEST_DATA}/tiny-models/*-quantised/*.gguf)
power_script_test(reference_forward sh -c
  "if test ! -x \"$0\"
   then echo 'SKIP: no Python environment in .venv'
   exit 77
   fi
   exec \"$0\" \"$@\""
  ${POWER_PYTHON} ${POWER_TEST_DIR}/llama_int8_ref.py --check ${POWER_QUANTISED_MODELS})
