power_test(hostile_models ${POWER_TEST_DIR}/test_hostile_models.c
  ${CMAKE_CURRENT_SOURCE_DIR}/common/cases.c)
target_link_libraries(test_hostile_models PRIVATE PkgConfig::JANSSON)
power_test(changed_model ${POWER_TEST_DIR}/test_changed_model.c)
