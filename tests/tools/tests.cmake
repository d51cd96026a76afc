# The scripts that a newcomer meets first, with the network and the package manager replaced.
power_script_test(fetch_model sh ${POWER_TEST_DIR}/fetch_model.sh ${CMAKE_SOURCE_DIR})
power_script_test(deps sh ${POWER_TEST_DIR}/deps.sh ${CMAKE_SOURCE_DIR})
power_script_test(checkers sh ${POWER_TEST_DIR}/checkers.sh ${CMAKE_SOURCE_DIR})
