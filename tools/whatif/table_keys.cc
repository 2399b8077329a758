// SPDX-License-Identifier: Apache-2.0
#include "tools/whatif/table_keys.h"

namespace rocksieve::tools {

std::unique_ptr<TableKeys> TableKeys::Open(const ColumnFamily& family, const TreeFile& file) {
  rocksdb::Options options;
  options.env = file.env();
  options.comparator = family.comparator.get();
  std::unique_ptr<TableKeys> table(new TableKeys(options));
  if (!table->reader_.Open(file.path).ok()) return nullptr;
  rocksdb::ReadOptions read;
  read.total_order_seek = true;
  read.fill_cache = false;
  table->keys_.reset(table->reader_.NewIterator(read));
  return table;
}

}  // namespace rocksieve::tools
