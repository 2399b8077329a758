// SPDX-License-Identifier: Apache-2.0
#include "plugin/join_api/difference_pairs.h"

#include "lib/join/join_key/whole_row.h"

namespace rocksieve::join {

absl::Status DifferencePairs::Add(const Row& row, Side from) {
  if (!KeyOfWholeRow(row.key, &key_)) {
    return absl::InvalidArgumentError("the other side sent a row that is not joined on all of it");
  }
  const std::string_view digest = row.key.substr(row.key.size() - kWholeRowDigestBytes);
  if (kept_ && kept_->key == key_ && kept_->from != from) {
    const DifferencePair::Side first{kept_->value, kept_->digest}, second{row.value, digest};
    const bool local_first = kept_->from == Side::kClient;
    const absl::Status status =
        take_({key_, local_first ? first : second, local_first ? second : first});
    kept_.reset();
    return status;
  }
  const absl::Status status = Finish();
  kept_ = Kept{std::string(key_), std::string(row.value), std::string(digest), from};
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
