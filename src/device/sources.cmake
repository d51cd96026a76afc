include(${CMAKE_CURRENT_LIST_DIR}/kernels.cmake)

# The device itself: buffers, thread pool, plans and their execution.
power_sources(cpu/buffers.c cpu/compile.c cpu/compile_check.c cpu/compile_fuse.c cpu/device.c
              cpu/exec_product.c cpu/exec_route.c cpu/exec_row.c cpu/exec_run.c cpu/exec_state.c
              cpu/exec_submit.c cpu/plan_memory.c cpu/pool.c cpu/state_commands.c)
