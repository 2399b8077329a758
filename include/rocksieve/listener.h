// SPDX-License-Identifier: Apache-2.0
// The listeners: one makes rocksieve.auto exact, the other one keeps a journal for comparisons.
//
//   options.listeners.push_back(rocksieve::NewListener());
//
// or, in anything that reads option strings or OPTIONS files once this library is loaded,
//
//   listeners={rocksieve.listener}
//
// ({rocksieve.listener:rocksieve.journal} are both.) A policy rocksieve.auto:BITS works without it,
// from what it has built itself; with it, it knows the files that are really there
// (docs/design/auto.md). The log says which of the two is in force. One with a budget of bytes,
// rocksieve.auto:512MB, needs it. Other policies take no notice of it.
#pragma once

#include <memory>

#include <rocksdb/listener.h>
#include "filter_policy.h"  // RocksDB installs both under another name

namespace rocksieve {

// One may serve any number of databases, column families and policies. It holds no reference to
// any of them, and forgets databases that are closed. Thread-safe.
ROCKSIEVE_EXPORT std::shared_ptr<rocksdb::EventListener> NewListener();

// As a string, rocksieve.journal. Keeps hard links of the files that flushes write and that are
// ingested, in DATABASE/rocksieve.journal, and a line for each compaction. With it, a comparison
// that was made before (rocksieve diff --state) reads what was written since, whatever compactions
// have made of it; without, all files that are new. Takes place on the disk for files that
// compactions have replaced, the newest 1 GiB of them, or a sixteenth of the database if that is
// more. May be turned on and off at any time; what it missed is noticed, and read from new files.
// One may serve any number of databases. Thread-safe.
ROCKSIEVE_EXPORT std::shared_ptr<rocksdb::EventListener> NewJournal();

}  // namespace rocksieve
