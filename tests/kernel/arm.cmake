power_test(self_test ${POWER_TEST_DIR}/test_self_test.c)
# The kernels of the other processor under emulation: a compiler and qemu for it, or skipped.
power_script_test(kernel_arm sh ${POWER_TEST_DIR}/arm/check ${CMAKE_SOURCE_DIR}
                  ${CMAKE_BINARY_DIR}/kernel-arm quick)
power_script_test(kernel_arm_full sh ${POWER_TEST_DIR}/arm/check ${CMAKE_SOURCE_DIR}
                  ${CMAKE_BINARY_DIR}/kernel-arm-full full)
power_test_labels(kernel_arm_full full)
