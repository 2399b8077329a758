// SPDX-License-Identifier: Apache-2.0
// What it costs a query to be listened to.
#pragma once

#include <string>

namespace rocksieve::bench {

// A table: nanoseconds per query of filters of rocksieve.auto, with and without the option even.
std::string SampleCosts(bool smoke);

}  // namespace rocksieve::bench
