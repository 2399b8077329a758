# SPDX-License-Identifier: Apache-2.0
# What tests need to run under the thread sanitizer beside libraries that are not built for it:
#   rocksieve_test_environment   properties of tests: the sanitizer's settings
#   rocksieve_abseil_locks       to link into every program that uses gRPC
# The list of suppressions has one line, with its reason. A line such as race:librocksdb.so would drop
# every report with RocksDB among the callers, that is, all of the plugin; planted_race must be found.
#
# What such libraries do in memory is not seen in full, so it must not be seen in part. How they lock is
# seen all the same.
set(rocksieve_test_environment ENVIRONMENT "TSAN_OPTIONS=ignore_noninstrumented_modules=1 \
suppressions='${PROJECT_SOURCE_DIR}/tests/thread_sanitizer/suppressions.txt'")
set(rocksieve_abseil_locks abseil_locks)
add_library(abseil_locks OBJECT ${PROJECT_SOURCE_DIR}/tests/thread_sanitizer/libraries.cc)
