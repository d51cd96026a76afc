# The kernels of the CPU device: dispatch, then the reference (the specification). They need only
# base/dtype.c beside themselves: tests/kernel/arm builds this list for another processor.
power_sources(cpu/cpuid.c cpu/fp.c cpu/kernels.c cpu/kv_layout.c cpu/self_test.c)
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
  power_isa_sources("${POWER_AVX2}" cpu/x86/attend_avx2.c cpu/x86/vector_avx2.c)
  power_isa_sources("${POWER_AVX512}" cpu/x86/attend_avx512.c cpu/x86/vector_avx512.c)
  power_isa_sources("${POWER_AVX512};-mavx512vnni" cpu/x86/attend_vnni.c)
endif()

# Arm: the bodies of x86/ over registers of 128 bits; they share layouts and packing.
power_sources(cpu/arm/table.c)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64|ARM64")
  power_sources(cpu/x86/product_decode.c cpu/x86/product_pack.c cpu/x86/product_planes.c
                cpu/arm/attend_neon.c cpu/arm/product_neon.c cpu/arm/vector_neon.c)
  power_isa_sources("-march=armv8.2-a+dotprod" cpu/arm/attend_dotprod.c
                    cpu/arm/product_dotprod.c cpu/arm/product_dotprod_wide.c)
  power_isa_sources("-march=armv8.2-a+dotprod+i8mm" cpu/arm/product_i8mm.c)
endif()
