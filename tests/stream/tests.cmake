power_test(stops ${POWER_TEST_DIR}/test_stops.c)
power_test(stream ${POWER_TEST_DIR}/test_stream.c)
target_link_libraries(test_stream PRIVATE PkgConfig::JANSSON)
power_test(constrained ${POWER_TEST_DIR}/test_constrained.c
           ${CMAKE_CURRENT_SOURCE_DIR}/common/harness.c)
target_include_directories(test_constrained PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/common)
power_test_labels(constrained tsan)
