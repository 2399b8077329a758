// A filter that only hashes: what it takes is in the time of every other one.
#pragma once

#include <rocksdb/filter_policy.h>

#include <memory>

namespace rocksieve::bench {

// Its readers hash a key as rocksieve does, and answer "may match".
std::shared_ptr<const rocksdb::FilterPolicy> NewHashOnlyPolicy();

}  // namespace rocksieve::bench
