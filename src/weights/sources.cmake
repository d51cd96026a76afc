power_sources(weights.c pack.c convert.c)
