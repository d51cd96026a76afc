# Answers of a real model under schemas: a few in make check, all twenty with ten seeds in check-full.
add_executable(generate_many ${POWER_TEST_DIR}/generate_many.c
               ${CMAKE_CURRENT_SOURCE_DIR}/common/harness.c)
target_link_libraries(generate_many PRIVATE power_static PkgConfig::JANSSON)
target_include_directories(generate_many PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/common)
target_compile_definitions(generate_many PRIVATE POWER_TEST_DATA="${POWER_TEST_DATA}")
foreach(variant short full)
  set(counts 4 1)
  if(variant STREQUAL full)
    set(counts 20 10)
  endif()
  string(REPLACE ";" " " counts "${counts}")
  power_script_test(qwen_constrained_${variant} sh -c
    "if test ! -x \"$0\" || test -z \"$POWER_TEST_QWEN05\"
     then echo 'SKIP: no Python environment in .venv, or no model in POWER_TEST_QWEN05'
     exit 77
     fi
     exec \"$0\" \"$1\" \"$2\" \"$POWER_TEST_QWEN05\" ${counts}"
    ${POWER_PYTHON} ${POWER_TEST_DIR}/qwen_constrained.py $<TARGET_FILE:generate_many>)
endforeach()
power_test_labels(qwen_constrained_full full release)
