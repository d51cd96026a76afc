# The CPU device: environment and dispatch, then the reference (the specification).
power_sources(cpu/cpuid.c cpu/fp.c cpu/kernels.c cpu/ref/half.c cpu/ref/math.c)
