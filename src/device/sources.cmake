# The CPU device: environment and dispatch, then the reference (the specification).
power_sources(cpu/cpuid.c cpu/fp.c cpu/kernels.c cpu/kv_layout.c)
power_sources(cpu/ref/attend.c cpu/ref/decode_32.c cpu/ref/decode_grid.c cpu/ref/decode_k.c
              cpu/ref/half.c cpu/ref/kv.c cpu/ref/math.c cpu/ref/pointwise.c
              cpu/ref/product_float.c cpu/ref/product_quant.c cpu/ref/recurrent.c
              cpu/ref/reduce.c cpu/ref/table.c cpu/ref/tables_iq.c)
# Products of x86; product.c chooses, and is empty elsewhere.
power_sources(cpu/x86/product.c)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(POWER_AVX2 -mavx2 -mfma -mf16c)
  set(POWER_AVX512 ${POWER_AVX2} -mavx512f -mavx512bw -mavx512dq -mavx512vl)
  power_sources(cpu/x86/product_pack.c cpu/x86/product_planes.c)
  power_isa_sources("${POWER_AVX2}" cpu/x86/product_avx2.c cpu/x86/product_decode.c)
  power_isa_sources("${POWER_AVX512}" cpu/x86/product_avx512.c)
  power_isa_sources("${POWER_AVX512};-mavx512vnni" cpu/x86/product_vnni.c)
endif()

# Vector and attention kernels of x86: one body a kernel, compiled once a path.
power_sources(cpu/x86/attend.c cpu/x86/vector.c)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(POWER_AVX2_FLAGS -mavx2 -mfma -mf16c)
  set(POWER_AVX512_FLAGS ${POWER_AVX2_FLAGS} -mavx512f -mavx512bw -mavx512dq -mavx512vl)
  power_isa_sources("${POWER_AVX2_FLAGS}" cpu/x86/attend_avx2.c cpu/x86/vector_avx2.c)
  power_isa_sources("${POWER_AVX512_FLAGS}" cpu/x86/attend_avx512.c cpu/x86/vector_avx512.c)
  power_isa_sources("${POWER_AVX512_FLAGS};-mavx512vnni" cpu/x86/attend_vnni.c)
endif()

# The device itself: buffers, thread pool, plans and their execution.
power_sources(cpu/buffers.c cpu/compile.c cpu/compile_check.c cpu/compile_fuse.c cpu/device.c
              cpu/exec_product.c cpu/exec_route.c cpu/exec_row.c cpu/exec_run.c cpu/exec_state.c
              cpu/exec_submit.c cpu/plan_memory.c cpu/pool.c cpu/state_commands.c)
