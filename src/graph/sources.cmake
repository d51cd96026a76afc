power_sources(graph.c rules.c build.c describe.c)
