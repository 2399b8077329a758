# SPDX-License-Identifier: Apache-2.0
# Tests are in two tiers: `./run test` runs the first one, the same tests each time; `./run test
# --thorough` runs all. This file has the whole list of the second one, whose tests have the label
# `thorough` in ctest. Without -DROCKSIEVE_THOROUGH=ON they are neither built nor known.

# Programs of C++ tests, files of Python tests, and what ctest runs else, by their names there.
set(thorough_tests
  auto_tests crash_test diff_lag experiments_tests hostile_environment_test join_allocations_test
  plugin_parts_tests range_oracle report_browser_test rust_example_test serve_soak stress_rocksdb_test
  toy_family_test)

# Cases of other programs: PROGRAM=FILTER, as --gtest_filter has it. In Python, the decorator
# @thorough of integration/environment.py.
set(thorough_cases
  unit_tests=MillionKeys/*:TenMillionKeys/*
  join_tests=StateModel.*:ValueComparison.BytesOfAChangedRow:Matching.WrongEstimatesCostLittle
  join_tests=JoinFaults.AnyFlippedBit*:Comparisons.AnyFlippedBit*:Join.FewBytesPerKey
  filter_tests=All/Upgrade.*/Ribbon*:All/Upgrade.*/Legacy*:Specs/Filtering.HundredsOfPartitionsInOneFile/*
  join_sources_tests=SstFilters.JoinsAreExact:TreeWalk.IsWhatTheIteratorShowsOfRandomHistories
  join_api_test=Settings/*)

find_package(Python3 REQUIRED COMPONENTS Interpreter)

# rocksieve_tier(NAME [PROGRAM...]): sets `left_out`, and `label`, properties of the test. Programs that
# it alone needs are not built then.
function(rocksieve_tier name)
  set(label)
  set(left_out OFF)
  if(name IN_LIST thorough_tests)
    set(label LABELS thorough)
    if(NOT ROCKSIEVE_THOROUGH)
      set(left_out ON)
      if(ARGN)
        set_target_properties(${ARGN} PROPERTIES EXCLUDE_FROM_ALL ON)
      endif()
    endif()
  endif()
  set(label ${label} PARENT_SCOPE)
  set(left_out ${left_out} PARENT_SCOPE)
endfunction()

# rocksieve_gtests(PROGRAM [PROPERTY VALUE...]): the tests in a program, each in a process of its own.
function(rocksieve_gtests program)
  rocksieve_tier(${program} ${program})
  if(left_out)
    return()
  endif()
  set(cases ${thorough_cases})
  list(FILTER cases INCLUDE REGEX "^${program}=")
  list(TRANSFORM cases REPLACE "^[^=]*=" "")
  list(JOIN cases ":" thorough)
  set(never)
  if(ROCKSIEVE_SANITIZE)  # rates of a million keys are the same there, and take minutes
    set(never ":*MillionKeys/*")
  endif()
  gtest_discover_tests(${program} DISCOVERY_TIMEOUT 60 TEST_FILTER "*-${thorough}${never}"
                       PROPERTIES TIMEOUT 300 ${label} ${ARGN})
  if(ROCKSIEVE_THOROUGH AND cases)
    gtest_discover_tests(${program} DISCOVERY_TIMEOUT 60 TEST_LIST ${program}_thorough
                         TEST_FILTER "${thorough}-${never}"
                         PROPERTIES TIMEOUT 600 LABELS thorough ${ARGN})
  endif()
endfunction()

# rocksieve_test(NAME [PROGRAMS PROGRAM...] COMMAND WORD... [ENVIRONMENT NAME=VALUE...] [PROPERTIES ...]):
# a test that is a program or a script, and the programs that it alone needs. ctest begins with these
# tests: they take longest.
function(rocksieve_test name)
  cmake_parse_arguments(PARSE_ARGV 1 test "" "" "PROGRAMS;COMMAND;ENVIRONMENT;PROPERTIES")
  rocksieve_tier(${name} ${test_PROGRAMS})
  if(left_out)
    return()
  endif()
  add_test(NAME ${name} COMMAND ${test_COMMAND} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set(environment ROCKSIEVE_BUILD=${PROJECT_BINARY_DIR} ${test_ENVIRONMENT})
  set_tests_properties(${name} PROPERTIES TIMEOUT 600 COST 10 ENVIRONMENT "${environment}"
                       ${label} ${test_PROPERTIES})
endfunction()
