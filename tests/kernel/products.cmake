power_test(products ${POWER_TEST_DIR}/test_products.c)
# Built by name only: times the kernels, not a test.
add_executable(bench_products EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/bench/kernels/bench_products.c)
target_link_libraries(bench_products PRIVATE power_static m)
