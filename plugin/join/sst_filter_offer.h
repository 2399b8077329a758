// What the filters of files will take and do, from what some of the files say of themselves.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/join/rows/ready_filter.h"
#include "plugin/join/sst_filters.h"

namespace rocksieve::join {

// Reads no filter, and no more than a few files. No offer if none of them has a filter of whole
// keys.
ReadyOffer OfferOf(rocksdb::Env* env, const std::vector<const PinnedTree::File*>& files,
                   uint64_t memtable_entries);

}  // namespace rocksieve::join
