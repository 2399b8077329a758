# SPDX-License-Identifier: Apache-2.0
# The files of pkg-config, one for each library that programs link; the names are those of the CMake
# package with a dash: rocksieve::core is rocksieve-core.
file(RELATIVE_PATH prefix_from_pc /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" prefix_from_pc "${prefix_from_pc}")

function(rocksieve_pkgconfig pc_name pc_description pc_requires pc_libs)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/pkgconfig.pc.in
                 ${PROJECT_BINARY_DIR}/pkgconfig/${pc_name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/pkgconfig/${pc_name}.pc
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

rocksieve_pkgconfig(rocksieve-core "Filters without RocksDB, for C++" "" "-lrocksieve_core")
rocksieve_pkgconfig(rocksieve-toolbox "Filters and sketches in memory, for C++" "rocksieve-core"
                    "-lrocksieve_toolbox")
if(TARGET rocksieve_filters)
  rocksieve_pkgconfig(rocksieve-filters "Filters without RocksDB, for C" "" "-lrocksieve_filters")
endif()
if(TARGET rocksieve_plugin)
  string(REGEX MATCH "[0-9]+$" minor "${rocksdb_series}")
  math(EXPR next_minor "${minor} + 1")
  string(REGEX REPLACE "[0-9]+$" "${next_minor}" next_series "${rocksdb_series}")
  set(rocksdb "rocksdb >= ${rocksdb_series}, rocksdb < ${next_series}")
  # A program that only names filters in option strings calls nothing of the plugin; linkers that drop
  # such libraries would leave it without filters.
  rocksieve_pkgconfig(rocksieve-plugin "Filter policies for RocksDB ${rocksdb_series}" "${rocksdb}"
    "-Wl,--push-state,--no-as-needed -lrocksieve-${rocksdb_series} -Wl,--pop-state")
  if(TARGET rocksieve_exporter)
    rocksieve_pkgconfig(rocksieve-exporter "Metrics of rocksieve over HTTP" "rocksieve-plugin"
                        "-lrocksieve_exporter")
  endif()
  if(TARGET rocksieve_join_api)
    rocksieve_pkgconfig(rocksieve-join "Exact joins of RocksDB ${rocksdb_series} databases on several nodes"
      "${rocksdb}" "-lrocksieve_join")
  endif()
endif()
