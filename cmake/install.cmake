# What `make install` puts where: headers, both libraries, power.pc, the CMake package, the program
# with its manual page and its completion for bash.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/power DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h")
install(TARGETS power_shared EXPORT power-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES $<TARGET_FILE:power_static> DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET power)
  install(TARGETS power RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(FILES ${CMAKE_SOURCE_DIR}/man/power.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${CMAKE_SOURCE_DIR}/completion/power.bash
          DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME power)
endif()

# The paths in power.pc start at its own place, so the tree may be moved and DESTDIR needs no care.
file(RELATIVE_PATH POWER_PC_UP /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" POWER_PC_UP "${POWER_PC_UP}")
configure_file(${CMAKE_SOURCE_DIR}/cmake/power.pc.in ${CMAKE_BINARY_DIR}/power.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/power.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

set(POWER_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/power)
install(EXPORT power-targets NAMESPACE power:: DESTINATION ${POWER_CMAKE_DIR})
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/power-config.cmake.in
                              ${CMAKE_BINARY_DIR}/power-config.cmake
                              INSTALL_DESTINATION ${POWER_CMAKE_DIR})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/power-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/power-config.cmake ${CMAKE_BINARY_DIR}/power-config-version.cmake
        DESTINATION ${POWER_CMAKE_DIR})
