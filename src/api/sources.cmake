power_sources(answer.c constraint.c generate.c metadata.c model.c runtime.c sampling.c session.c text.c
              render.c)
power_sources(graph_api.c graph_run.c)
