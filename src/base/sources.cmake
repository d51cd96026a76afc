power_sources(dtype.c error.c hash.c index.c memory.c rotary.c version.c)
set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/version.c PROPERTIES
                            COMPILE_DEFINITIONS "POWER_VERSION_TEXT=\"${PROJECT_VERSION}\"")
