# The CPU device: environment and dispatch, then the reference (the specification).
power_sources(cpu/cpuid.c cpu/fp.c cpu/kernels.c cpu/kv_layout.c)
power_sources(cpu/ref/attend.c cpu/ref/decode_32.c cpu/ref/decode_grid.c cpu/ref/decode_k.c
              cpu/ref/half.c cpu/ref/kv.c cpu/ref/math.c cpu/ref/pointwise.c
              cpu/ref/product_float.c cpu/ref/product_quant.c cpu/ref/recurrent.c
              cpu/ref/reduce.c cpu/ref/table.c cpu/ref/tables_iq.c)
