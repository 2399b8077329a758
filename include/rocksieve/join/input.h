// SPDX-License-Identifier: Apache-2.0
// One side's rows for a join: part of a database, an SST file, or text.
//
// An Input only describes them. They are opened when a join begins, which then sees one unchanging
// state of them until it ends.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/rate_limiter.h>
#include <rocksdb/status.h>
#include <rocksieve/join/export.h>

namespace rocksieve::join {

// Puts what a row is joined on into *join_key; false if that is NULL: it then matches nothing, as
// in SQL. Equal rows must give the same. Called by one thread at a time for each join.
using Extractor =
    std::function<bool(std::string_view key, std::string_view value, std::string* join_key)>;

// By the name under which they are asked for: "customer" for "@customer".
using Extractors = std::map<std::string, Extractor, std::less<>>;

struct InputOptions {
  // What rows are joined on, such as "value.json(/customer/id)", "key.bytes(0,8)" or "@customer"
  // (docs/join_keys.md). Empty: the whole key.
  std::string on;
  Extractors extractors;
  // Join keys that do not come in the order of the keys are sorted when a join begins: in so much
  // memory, the rest in files without names in the directory ($TMPDIR, else /tmp, if empty).
  size_t sort_memory_bytes = size_t{64} << 20;
  // Of OfDirectory(): charged with what is read from its files, so that whoever owns the database
  // has the rest of the disk; of RateLimiter::Mode::kReadsOnly or kAllIo. Several inputs may share
  // one. Null: as fast as it goes. An open database has a limiter of its own, or none.
  std::shared_ptr<rocksdb::RateLimiter> rate_limiter = nullptr;
  std::string temporary_directory;
};

// Cheap to copy. Thread-safe: joins of several threads may share one.
class ROCKSIEVE_EXPORT Input {
 public:
  // What Get() finds: merges applied, deleted keys left out. `db` and `family` must outlive all
  // joins with it; `family` null is the default one. Of the read options, these are heeded:
  // `snapshot` (null: each join takes one of its own; else it must outlive them),
  // `iterate_lower_bound` and `iterate_upper_bound` (the rows that there are; they are copied),
  // `readahead_size`, `verify_checksums`, `rate_limiter_priority`. Scans leave the block cache
  // alone. InvalidArgument if `on` cannot be read.
  static rocksdb::Status OfDatabase(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family,
                                    const rocksdb::ReadOptions& read, const InputOptions& options,
                                    Input* input);

  // A database that another process may have open and write to, which goes on undisturbed: nothing
  // is written, locked or deleted. Each join sees its rows as they are when it begins, by the files
  // of one moment, which are held, and the write-ahead logs, whose rows are kept in memory; rows
  // written without a log are seen once they are flushed. `column_family` empty: "default".
  // InvalidArgument if `on` cannot be read; that there is no such database, a join finds.
  static rocksdb::Status OfDirectory(const std::string& directory, const std::string& column_family,
                                     const InputOptions& options, Input* input);

  // An SST file, which must not change. `rocksdb_options` need the merge operator, if there are
  // merges in the file. Files with range deletions, or with values in blob files, are refused when
  // a join begins, which reads the file once to see.
  static rocksdb::Status OfSst(const std::string& path, const rocksdb::Options& rocksdb_options,
                               const InputOptions& options, Input* input);

  // Lines of text, each a key, or a key, a TAB and a value; sorted as `LC_ALL=C sort` sorts keys,
  // which each join checks. The file must not change.
  static rocksdb::Status OfSortedText(const std::string& path, const InputOptions& options,
                                      Input* input);

  Input();  // of no use until it is assigned
  ~Input();
  Input(const Input&);
  Input& operator=(const Input&);

  class Impl;
  explicit Input(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  const Impl* impl() const { return impl_.get(); }

 private:
  std::shared_ptr<const Impl> impl_;
};

}  // namespace rocksieve::join
