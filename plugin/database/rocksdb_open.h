// SPDX-License-Identifier: Apache-2.0
// Where rocksdb::DB::Open() and its like put a database, whatever the release.
//
// Until 10.10 they take a DB** and the caller owns what comes; from 11.0 on they take a unique_ptr
// and nothing else.
#pragma once

#include <memory>

#include <rocksdb/db.h>
#include <rocksdb/version.h>

namespace rocksieve {

// The last argument of a call that opens a database:
//
//   std::unique_ptr<rocksdb::DB> db;
//   status = rocksdb::DB::Open(options, path, Into(&db));
//
// As std::out_ptr() of C++23, it fills `owner` at the end of the full expression that it stands in:
// with null if the call failed. What `owner` had is closed only then. Not thread-safe.
#if ROCKSDB_MAJOR >= 11
inline std::unique_ptr<rocksdb::DB>* Into(std::unique_ptr<rocksdb::DB>* owner) { return owner; }
#else
class Into {
 public:
  explicit Into(std::unique_ptr<rocksdb::DB>* owner) : owner_(owner) {}
  Into(const Into&) = delete;
  Into& operator=(const Into&) = delete;
  ~Into() { owner_->reset(opened_); }
  operator rocksdb::DB**() { return &opened_; }

 private:
  std::unique_ptr<rocksdb::DB>* owner_;
  rocksdb::DB* opened_ = nullptr;
};
#endif

}  // namespace rocksieve
