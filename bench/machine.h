// SPDX-License-Identifier: Apache-2.0
// What the figures were measured on and with.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

namespace rocksieve::bench {

// processor, cores, l2_bytes, l3_bytes, load_average, rocksdb_version, rocksdb_library,
// plugin_library, isa.
nlohmann::json DescribeMachine();

// The same for people.
std::string ForPeople(const nlohmann::json& machine);

// Of rocksieve's kernels in this process.
std::string ActiveIsaName();

// A buffer of this size pushes all else out of the caches that no other core uses.
size_t BytesLargerThanPrivateCaches();

// Whether this program was built in a way whose times mean something: empty, or why nothing should
// be measured with this build, and what to do.
std::string WhyNotToMeasure();

}  // namespace rocksieve::bench
