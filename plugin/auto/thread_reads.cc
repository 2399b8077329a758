// SPDX-License-Identifier: Apache-2.0
#include "plugin/auto/thread_reads.h"

#include <rocksdb/perf_context.h>

namespace rocksieve {
namespace {

// As SstFileReader (listener.cc), a RocksDB that is linked statically may be without it.
#ifndef ROCKSIEVE_IN_TREE
extern "C" rocksdb::PerfContext* ThreadPerfContext() __asm__("_ZN7rocksdb16get_perf_contextEv")
    __attribute__((weak, visibility("default")));
rocksdb::PerfContext* PerfContextIfAny() {
  return &ThreadPerfContext == nullptr ? nullptr : ThreadPerfContext();
}
#else
rocksdb::PerfContext* PerfContextIfAny() { return rocksdb::get_perf_context(); }
#endif

}  // namespace

ThreadReads ThreadReads::Now() {
  ThreadReads now;
  const rocksdb::PerfContext* const perf = PerfContextIfAny();
  if (perf == nullptr) return now;
  now.data_blocks_read =
      perf->block_read_count - perf->index_block_read_count - perf->filter_block_read_count;
  now.data_blocks_from_cache = perf->block_cache_hit_count - perf->block_cache_index_hit_count -
                               perf->block_cache_filter_hit_count;
  now.found_bytes = perf->get_read_bytes + perf->multiget_read_bytes + perf->iter_read_bytes;
  return now;
}

}  // namespace rocksieve
