// SPDX-License-Identifier: Apache-2.0
// The keys of one table file, in order.
#pragma once

#include <memory>

#include <rocksdb/iterator.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_reader.h>

#include "plugin/database/tree.h"

namespace rocksieve::tools {

class TableKeys {
 public:
  // Null if the file cannot be opened. The column family must outlive it.
  static std::unique_ptr<TableKeys> Open(const ColumnFamily& family, const TreeFile& file);

  rocksdb::Iterator* operator->() const { return keys_.get(); }

 private:
  explicit TableKeys(const rocksdb::Options& options) : reader_(options) {}

  rocksdb::SstFileReader reader_;
  std::unique_ptr<rocksdb::Iterator> keys_;
};

}  // namespace rocksieve::tools
