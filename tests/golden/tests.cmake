# Models against their goldens: tiny ones in C, real ones by a script over a dump of logits.
power_test(tiny_models ${POWER_TEST_DIR}/test_tiny.c ${POWER_TEST_DIR}/../common/harness.c)

add_executable(dump_logits ${POWER_TEST_DIR}/dump_logits.c ${POWER_TEST_DIR}/../common/harness.c)
target_link_libraries(dump_logits PRIVATE power_static)
target_compile_definitions(dump_logits PRIVATE POWER_TEST_DATA="${POWER_TEST_DATA}")

function(power_real_model_test name variable golden)
  power_script_test(${name} sh -c
    "if test ! -x \"$0\"
     then echo 'SKIP: no Python environment in .venv'
     exit 77
     elif test -z \"$${variable}\"
     then echo 'SKIP: ${variable} names no model file'
     exit 77
     fi
     exec \"$0\" \"$@\" --model \"$${variable}\""
    ${POWER_PYTHON} ${POWER_TEST_DIR}/real_models.py --dump $<TARGET_FILE:dump_logits>
    --power $<TARGET_FILE:power> --golden ${POWER_TEST_DATA}/golden/${golden} ${ARGN})
  power_test_labels(${name} release serial)
endfunction()
if(TARGET power)
  power_real_model_test(golden_qwen POWER_TEST_QWEN05 qwen2.5-coder-0.5b)
  power_real_model_test(golden_gemma POWER_TEST_GEMMA gemma-3-270m)
  power_real_model_test(golden_qwen_text POWER_TEST_QWEN05 qwen2.5-coder-0.5b --full)
  power_real_model_test(golden_gemma_text POWER_TEST_GEMMA gemma-3-270m --full)
  power_test_labels(golden_qwen_text full)
  power_test_labels(golden_gemma_text full)
endif()
power_test(quantised_models ${POWER_TEST_DIR}/test_quantised.c ${POWER_TEST_DIR}/../common/harness.c)
power_script_test(quantised_exact sh ${POWER_TEST_DIR}/quantised_exact.sh
  ${POWER_PYTHON} $<TARGET_FILE:dump_logits> ${POWER_TEST_DATA}/tiny-models
  ${CMAKE_SOURCE_DIR}/tests/reference/llama_int8_ref.py)
if(TARGET power)
  power_script_test(safetensors_forms sh -c
    "if test ! -x \"$0\"
     then echo 'SKIP: no Python environment in .venv'
     exit 77
     fi
     exec \"$0\" \"$@\""
    ${POWER_PYTHON} ${POWER_TEST_DIR}/safetensors_forms.py --dump $<TARGET_FILE:dump_logits>
    --power $<TARGET_FILE:power> --models ${POWER_TEST_DATA}/tiny-models)
endif()
if(TARGET power)
  power_script_test(refusals sh ${POWER_TEST_DIR}/refusals.sh ${POWER_PYTHON} $<TARGET_FILE:power>
    ${CMAKE_SOURCE_DIR}/tests/reference/make_random.py
    ${POWER_TEST_DATA}/tiny-models/llama/model.gguf)
endif()
