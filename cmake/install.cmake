# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where, and the package that find_package(rocksieve) then finds.
include(CMakePackageConfigHelpers)
include(cmake/pkgconfig.cmake)

set(package_directory ${CMAKE_INSTALL_LIBDIR}/cmake/rocksieve)
set(public_headers include/rocksieve/c.h include/rocksieve/c_arrow.h include/rocksieve/c_load.h include/rocksieve/filter.h include/rocksieve/filter_spec.h)

install(TARGETS rocksieve_core rocksieve_toolbox EXPORT rocksieveTargets
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(TARGET rocksieve_filters)
  install(TARGETS rocksieve_filters)
  # Where Debian has packages of Python; elsewhere, PYTHONPATH names it.
  install(DIRECTORY lib/python/rocksieve DESTINATION lib/python3/dist-packages
          FILES_MATCHING PATTERN "*.py" PATTERN "py.typed" PATTERN "__pycache__" EXCLUDE)
endif()
install(EXPORT rocksieveTargets NAMESPACE rocksieve:: DESTINATION ${package_directory})

# An export set of its own: it names targets of RocksDB, and whoever only wants rocksieve::core need
# not have RocksDB.
if(TARGET rocksieve_plugin)
  list(APPEND public_headers include/rocksieve/filter_policy.h include/rocksieve/listener.h
       include/rocksieve/metrics.h include/rocksieve/range.h)
  # Builds for several releases of RocksDB have one librocksieve.so beside them all.
  install(TARGETS rocksieve_loader)
  set(plugin_targets rocksieve_plugin)
  if(TARGET rocksieve_plugin_static)
    list(APPEND plugin_targets rocksieve_plugin_static)
  endif()
  install(TARGETS ${plugin_targets} EXPORT rocksievePluginTargets
          INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT rocksievePluginTargets NAMESPACE rocksieve:: DESTINATION ${package_directory})
endif()

# Likewise: with what serves metrics comes prometheus-cpp, as a shared library.
if(TARGET rocksieve_exporter)
  list(APPEND public_headers include/rocksieve/metrics_exporter.h)
  install(TARGETS rocksieve_exporter EXPORT rocksieveExporterTargets
          INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT rocksieveExporterTargets NAMESPACE rocksieve:: DESTINATION ${package_directory})
  install(FILES tools/share/prometheus/rules.yml
          DESTINATION ${CMAKE_INSTALL_DATADIR}/rocksieve/prometheus)
  install(FILES tools/share/grafana/dashboard.json
          DESTINATION ${CMAKE_INSTALL_DATADIR}/rocksieve/grafana)
endif()

# Likewise: with the join between nodes come gRPC and what that needs, as shared libraries.
if(TARGET rocksieve_join_api)
  install(FILES include/rocksieve/join/export.h include/rocksieve/join/input.h
                include/rocksieve/join/diff.h include/rocksieve/join/join.h
                include/rocksieve/join/operation.h include/rocksieve/join/peer.h
                include/rocksieve/join/report.h include/rocksieve/join/server.h
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rocksieve/join)
  install(TARGETS rocksieve_join_api EXPORT rocksieveJoinTargets
          INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT rocksieveJoinTargets NAMESPACE rocksieve:: DESTINATION ${package_directory})
  # `serve` as a service (docs/serve.md), by the prefix that --prefix may have changed.
  install(CODE "
    cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_PREFIX NORMALIZE OUTPUT_VARIABLE prefix)
    set(bindir \"${CMAKE_INSTALL_BINDIR}\")
    cmake_path(ABSOLUTE_PATH bindir BASE_DIRECTORY \"\${prefix}\"
               OUTPUT_VARIABLE CMAKE_INSTALL_FULL_BINDIR)
    configure_file(\"${PROJECT_SOURCE_DIR}/tools/share/systemd/rocksieve-serve.service.in\"
                   \"${CMAKE_CURRENT_BINARY_DIR}/rocksieve-serve.service\" @ONLY)")
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/rocksieve-serve.service
                tools/share/systemd/rocksieve-serve.socket DESTINATION lib/systemd/system)
  install(FILES tools/share/systemd/serve.conf tools/share/container/Containerfile
          DESTINATION ${CMAKE_INSTALL_DATADIR}/rocksieve)
endif()

install(FILES ${public_headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rocksieve)
install(DIRECTORY include/rocksieve/dynamic include/rocksieve/estimate include/rocksieve/routing
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rocksieve FILES_MATCHING PATTERN "*.h")
install(FILES LICENSE NOTICE DESTINATION ${CMAKE_INSTALL_DOCDIR})

configure_package_config_file(cmake/rocksieveConfig.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/rocksieveConfig.cmake INSTALL_DESTINATION ${package_directory}
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/rocksieveConfigVersion.cmake
  COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/rocksieveConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/rocksieveConfigVersion.cmake
        DESTINATION ${package_directory})
