power_sources(generate.c metadata.c model.c runtime.c sampling.c session.c text.c)
if(EXISTS ${CMAKE_CURRENT_LIST_DIR}/graph_api.c)
  power_sources(graph_api.c)
endif()
