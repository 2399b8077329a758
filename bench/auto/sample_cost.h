// SPDX-License-Identifier: Apache-2.0
// What it costs a query to be listened to.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace rocksieve::bench {

// A table: nanoseconds per query of filters of rocksieve.auto, with and without the option even,
// that many of them `at_once`, up to 32.
std::string SampleCosts(bool smoke, const std::vector<size_t>& at_once);

}  // namespace rocksieve::bench
