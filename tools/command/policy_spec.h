// Filter policies from what a user writes after --spec=.
#pragma once

#include <memory>
#include <string>

#include <rocksdb/filter_policy.h>
#include <rocksdb/status.h>

namespace rocksieve::tools {

// Any spec of rocksieve's or of RocksDB's own ("bloomfilter:10:false", "ribbonfilter:10"), or
// "none": a null policy. InvalidArgument with what is wrong and what is allowed; a spec that
// RocksDB's own option parser would silently take for no policy is one as well.
rocksdb::Status MakePolicy(const std::string& spec,
                           std::shared_ptr<const rocksdb::FilterPolicy>* policy);

}  // namespace rocksieve::tools
