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
