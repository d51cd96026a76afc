# One digest over kernels, threads, chunks, KV types, fusion, company and history of a sequence.
add_executable(digest ${POWER_TEST_DIR}/digest.c ${POWER_TEST_DIR}/scenario.c
               ${POWER_TEST_DIR}/company.c ${POWER_TEST_DIR}/spoil.c
               ${POWER_TEST_DIR}/../common/harness.c)
target_link_libraries(digest PRIVATE power_static)
target_compile_definitions(digest PRIVATE POWER_TEST_DATA="${POWER_TEST_DATA}")
set(POWER_DIGEST_TINY)
foreach(family llama llama-bf16 llama3-rope mistral mixtral qwen2 qwen3 qwen3moe qwen35 gemma2
        gemma3 phi3 olmo2 granite)
  list(APPEND POWER_DIGEST_TINY ${POWER_TEST_DATA}/tiny-models/${family}/model.gguf)
endforeach()
power_script_test(digest_tiny $<TARGET_FILE:digest> pairs ${POWER_DIGEST_TINY})
power_script_test(digest_notices $<TARGET_FILE:digest> spoiled
                  ${POWER_TEST_DATA}/tiny-models/llama/model.gguf)

foreach(family qwen2 gemma3 mixtral qwen35)
  power_script_test(digest_product_${family} $<TARGET_FILE:digest> product
                    ${POWER_TEST_DATA}/tiny-models/${family}/model.gguf)
  power_test_labels(digest_product_${family} release full)
  if(TEST digest_product_${family})
    set_tests_properties(digest_product_${family} PROPERTIES TIMEOUT 7200)
  endif()
endforeach()
# A random model whose sums have two and three segments of 256.
power_script_test(digest_random sh -c
  "if test ! -x \"$0\"
   then echo 'SKIP: no Python environment in .venv'
   exit 77
   fi
   work=$(mktemp -d) && trap 'rm -rf \"$work\"' EXIT &&
   \"$0\" \"$1\" --like \"$2\" --out \"$work/random.gguf\" && \"$3\" pairs-fast \"$work/random.gguf\""
  ${POWER_PYTHON} ${CMAKE_SOURCE_DIR}/tests/reference/make_random.py
  ${POWER_TEST_DATA}/tiny-models/llama/model.gguf $<TARGET_FILE:digest>)
power_script_test(digest_qwen sh -c
  "if test -z \"$POWER_TEST_QWEN05\"
   then echo 'SKIP: POWER_TEST_QWEN05 names no model file'
   exit 77
   fi
   exec \"$0\" pairs-fast \"$POWER_TEST_QWEN05\"" $<TARGET_FILE:digest>)
power_test_labels(digest_tiny release)
power_test_labels(digest_random release)
power_test_labels(digest_qwen release serial full)
if(TEST digest_qwen)
  set_tests_properties(digest_qwen PROPERTIES TIMEOUT 7200)
endif()
