# The Release program as a whole.
power_script_test(quiet sh ${POWER_TEST_DIR}/quiet.sh ${CMAKE_BINARY_DIR} ${POWER_TEST_DATA})

# The examples, built here and run on models with known answers.
foreach(name mlp generate chat extract tools)
  add_executable(example_${name} ${CMAKE_SOURCE_DIR}/examples/${name}.c)
  target_link_libraries(example_${name} PRIVATE power_static m)
  set_target_properties(example_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY
                        ${CMAKE_BINARY_DIR}/examples)
endforeach()
add_test(NAME examples COMMAND sh ${POWER_TEST_DIR}/examples.sh ${CMAKE_BINARY_DIR}/examples
         ${POWER_TEST_DATA} ${CMAKE_SOURCE_DIR}/examples)

if(TARGET power)
  power_script_test(manual bash ${POWER_TEST_DIR}/manual.sh $<TARGET_FILE:power> ${CMAKE_SOURCE_DIR})
endif()
