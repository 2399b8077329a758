// SPDX-License-Identifier: Apache-2.0
// Flags about bytes per second: that by which a command is slowed down for whoever owns the
// database, and that of the link.
#pragma once

#include <cstdint>
#include <memory>

#include <rocksdb/rate_limiter.h>
#include <CLI/CLI.hpp>

namespace rocksieve::tools {

// --limit=BYTES, such as 50MB; 0 without it.
void AddLimitFlag(CLI::App* parser, uint64_t* bytes_per_second);

// --link=BYTES, such as 125MB; 0 without it.
void AddLinkFlag(CLI::App* parser, uint64_t* bytes_per_second);

// Null for 0.
std::shared_ptr<rocksdb::RateLimiter> RateLimiterOf(uint64_t bytes_per_second);

}  // namespace rocksieve::tools
