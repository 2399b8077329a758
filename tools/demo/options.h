// The RocksDB options of all databases of the demonstration, and the remedies for its errors.
#pragma once

#include <memory>
#include <string>

#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/status.h>

namespace rocksieve::tools {

inline constexpr int kLevels = 4;

// Nothing happens by itself: what decides the shape of the tree is tree.cc alone, so that it is the
// same whatever the filter. No block cache and no compression, so that each data block that is
// looked at is one read of one size; filters and indexes stay in memory.
rocksdb::Options MakeOptions(std::shared_ptr<const rocksdb::FilterPolicy> policy);

// OK and Aborted stay what they are; any other status becomes an IOError whose message is all there
// is to say: "cannot " and the task, the status, and what may help.
rocksdb::Status Explained(const rocksdb::Status& status, const std::string& task);

}  // namespace rocksieve::tools
