# Programs outside the tree build against an installed Power, in C and in C++, both ways.
include(GNUInstallDirs)
power_script_test(install sh ${POWER_TEST_DIR}/run.sh ${CMAKE_BINARY_DIR} ${CMAKE_INSTALL_LIBDIR})
