# The Release program as a whole.
power_script_test(quiet sh ${POWER_TEST_DIR}/quiet.sh ${CMAKE_BINARY_DIR} ${POWER_TEST_DATA})
