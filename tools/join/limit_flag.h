// SPDX-License-Identifier: Apache-2.0
// The flag by which a command is slowed down for whoever owns the database.
#pragma once

#include <cstdint>
#include <memory>

#include <rocksdb/rate_limiter.h>
#include <CLI/CLI.hpp>

namespace rocksieve::tools {

// --limit=BYTES, such as 50MB; 0 without it.
void AddLimitFlag(CLI::App* parser, uint64_t* bytes_per_second);

// Null for 0.
std::shared_ptr<rocksdb::RateLimiter> RateLimiterOf(uint64_t bytes_per_second);

}  // namespace rocksieve::tools
