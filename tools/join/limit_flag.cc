// SPDX-License-Identifier: Apache-2.0
#include "tools/join/limit_flag.h"

#include <limits>

#include <rocksieve/join/join.h>

#include "tools/command/command.h"

namespace rocksieve::tools {

void AddLimitFlag(CLI::App* parser, uint64_t* bytes_per_second) {
  constexpr uint64_t kLeast = 64 << 10, kMost = std::numeric_limits<int64_t>::max() / 1000;
  parser
      ->add_option("--limit", *bytes_per_second,
                   "bytes per second that are read of the database here, such as 50MB. Default: no "
                   "limit")
      ->type_name("BYTES")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/true) & CLI::Range(kLeast, kMost))
      ->group(kRareFlags);
}

void AddLinkFlag(CLI::App* parser, uint64_t* bytes_per_second) {
  constexpr uint64_t kLeast = 1 << 10;
  parser
      ->add_option(
          "--link", *bytes_per_second,
          "bytes per second of the link, each way, such as 125MB: to be quick on it, rather "
          "than to send little")
      ->type_name("BYTES")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/true) &
                  CLI::Range(kLeast, join::JoinOptions::kMostLinkBytesPerSecond))
      ->group(kRareFlags);
}

std::shared_ptr<rocksdb::RateLimiter> RateLimiterOf(uint64_t bytes_per_second) {
  constexpr int64_t kRefillMicroseconds = 100'000;
  constexpr int32_t kFairness = 10;
  if (bytes_per_second == 0) return nullptr;
  return std::shared_ptr<rocksdb::RateLimiter>(
      rocksdb::NewGenericRateLimiter(static_cast<int64_t>(bytes_per_second), kRefillMicroseconds,
                                     kFairness, rocksdb::RateLimiter::Mode::kReadsOnly));
}

}  // namespace rocksieve::tools
