# The token-level engine: random grammars and objects against brute force, masks against acceptance.
foreach(name matcher_random matcher_object matcher_mask matcher_memory matcher_threads)
  power_test(${name} ${POWER_TEST_DIR}/test_${name}.c)
endforeach()
target_link_libraries(test_matcher_mask PRIVATE PkgConfig::JANSSON)
power_test_labels(matcher_threads tsan)
