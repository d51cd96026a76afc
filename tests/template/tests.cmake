# The template engine beside Python's Jinja2.
add_executable(template_serve ${POWER_TEST_DIR}/serve.c)
target_link_libraries(template_serve PRIVATE power_static)

foreach(form template_differential template_differential_full)
  set(rounds --cases 2500 --seed 1)
  if(form STREQUAL template_differential_full)
    set(rounds --cases 20000 --seed 2 --seed 3 --seed 4 --seed 5 --seed 6)
  endif()
  power_script_test(${form} sh -c
    "if ! \"$0\" -c 'import jinja2' 2>/dev/null
     then echo 'SKIP: no jinja2 in .venv'
     exit 77
     fi
     exec \"$0\" \"$@\""
    ${POWER_PYTHON} ${POWER_TEST_DIR}/differential.py --serve $<TARGET_FILE:template_serve> ${rounds})
endforeach()
power_test_labels(template_differential_full full)
power_test(template_chat ${POWER_TEST_DIR}/test_template_chat.c)
power_test(render_api ${POWER_TEST_DIR}/test_render_api.c ${POWER_TEST_DIR}/../common/harness.c)
