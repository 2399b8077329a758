# SPDX-License-Identifier: Apache-2.0
# Tests are in two tiers: `./run test` runs the first one, the same tests each time; `./run test
# --thorough` runs all. This file has the whole list of the second one, whose tests have the label
# `thorough` in ctest. Without -DROCKSIEVE_THOROUGH=ON they are neither built nor known.

# Programs of C++ tests, files of Python tests, and what ctest runs else, by their names there.
set(thorough_tests
  auto_tests crash_test demo_test diff_lag experiments_tests filter_oracle hostile_environment_test
  join_allocations_test plugin_parts_tests range_oracle report_browser_test serve_soak)

# Cases of other programs: PROGRAM=FILTER, as --gtest_filter has it. In Python, the decorator
# @thorough of integration/environment.py.
set(thorough_cases
  unit_tests=MillionKeys/*:TenMillionKeys/*
  join_tests=StateModel.*:ValueComparison.BytesOfAChangedRow:Matching.WrongEstimatesCostLittle
  join_tests=JoinFaults.AnyFlippedBit*:Comparisons.AnyFlippedBit*:Join.FewBytesPerKey
  filter_tests=All/Upgrade.*/Ribbon*:All/Upgrade.*/Legacy*:Specs/Filtering.HundredsOfPartitionsInOneFile/*
  join_api_test=Settings/*
  command_tests=Trees/*:CommandRanges.*)

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

# The tests in a program that a filter of GoogleTest chooses: four processes, since the start of one is
# most of the time of many a test; or each by itself, by its own name, for ./run test --filter.
option(ROCKSIEVE_EACH_CASE "Each C++ test is a test of ctest" OFF)
function(rocksieve_cases program name filter)
  set(timeout_s 600)
  if(ROCKSIEVE_SANITIZE)
    set(timeout_s 1800)
  endif()
  set(properties TIMEOUT ${timeout_s} COST 5 ${ARGN})
  if(ROCKSIEVE_EACH_CASE)
    gtest_discover_tests(${program} DISCOVERY_TIMEOUT 60 TEST_LIST ${name}_list
                         TEST_FILTER "${filter}" PROPERTIES ${properties})
    return()
  endif()
  foreach(shard RANGE 3)
    add_test(NAME ${name}_${shard} COMMAND ${program} --gtest_brief=1 --gtest_filter=${filter})
    set_tests_properties(${name}_${shard} PROPERTIES ${properties})
    set_property(TEST ${name}_${shard} APPEND PROPERTY ENVIRONMENT
                 GTEST_TOTAL_SHARDS=4 GTEST_SHARD_INDEX=${shard})
  endforeach()
endfunction()

# rocksieve_gtests(PROGRAM [PROPERTY VALUE...]): the tests in a program, by their tiers.
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
  if(ROCKSIEVE_SANITIZE)  # what measures rates measures the same there, and takes ten times as long
    set(never ":*MillionKeys/*:Gain.*:*BytesBudgetGain.*")
    string(APPEND never ":*Fourfold/R*:*Fourfold/O*:*Fourfold/U*:*Fourfold/I*")
  endif()
  rocksieve_cases(${program} ${program} "*-${thorough}${never}" ${label} ${ARGN})
  if(ROCKSIEVE_THOROUGH AND cases)
    rocksieve_cases(${program} ${program}_thorough "${thorough}-${never}" LABELS thorough ${ARGN})
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
