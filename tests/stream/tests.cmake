power_test(stops ${POWER_TEST_DIR}/test_stops.c)
power_test(stream ${POWER_TEST_DIR}/test_stream.c)
target_link_libraries(test_stream PRIVATE PkgConfig::JANSSON)
