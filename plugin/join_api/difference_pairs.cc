// SPDX-License-Identifier: Apache-2.0
#include "plugin/join_api/difference_pairs.h"

#include "lib/join/join_key/whole_row.h"
#include "lib/join/rows/packed_row.h"

namespace rocksieve::join {

absl::Status DifferencePairs::Add(const Row& row, Side from) {
  Row whole;
  if (row.key.size() < kWholeRowDigestBytes || !UnpackRow(row.value, &whole)) {
    return absl::InvalidArgumentError("the other side sent a row that is not joined on all of it");
  }
  const std::string_view digest = row.key.substr(row.key.size() - kWholeRowDigestBytes);
  if (kept_ && kept_->key == whole.key && kept_->from != from) {
    const DifferencePair::Side first{kept_->value, kept_->digest}, second{whole.value, digest};
    const bool local_first = kept_->from == Side::kClient;
    const absl::Status status =
        take_({whole.key, local_first ? first : second, local_first ? second : first});
    kept_.reset();
    return status;
  }
  const absl::Status status = Finish();
  kept_ = Kept{std::string(whole.key), std::string(whole.value), std::string(digest), from};
  return status;
}

absl::Status DifferencePairs::Finish() {
  if (!kept_) return absl::OkStatus();
  DifferencePair pair;
  pair.key = kept_->key;
  (kept_->from == Side::kClient ? pair.local : pair.remote) = {kept_->value, kept_->digest};
  const absl::Status status = take_(pair);
  kept_.reset();
  return status;
}

}  // namespace rocksieve::join
