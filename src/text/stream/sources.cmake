power_sources(stops.c stream.c)
