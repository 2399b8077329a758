// SPDX-License-Identifier: Apache-2.0
// The listener that makes rocksieve.auto exact.
//
//   options.listeners.push_back(rocksieve::NewListener());
//
// or, in anything that reads option strings or OPTIONS files once this library is loaded,
//
//   listeners={rocksieve.listener}
//
// A policy rocksieve.auto:BITS works without it, from what it has built itself; with it, it knows
// the files that are really there (docs/design/auto.md). The log says which of the two is in force.
// Other policies take no notice of it.
#pragma once

#include <memory>

#include <rocksdb/listener.h>
#include "filter_policy.h"  // RocksDB installs both under another name

namespace rocksieve {

// One may serve any number of databases, column families and policies. It holds no reference to
// any of them, and forgets databases that are closed. Thread-safe.
ROCKSIEVE_EXPORT std::shared_ptr<rocksdb::EventListener> NewListener();

}  // namespace rocksieve
