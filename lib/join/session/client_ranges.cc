// SPDX-License-Identifier: Apache-2.0
#include "lib/join/session/client_ranges.h"

#include <algorithm>
#include <iterator>

#include <absl/strings/str_cat.h>

namespace rocksieve::join {

ClientRanges::ClientRanges(const KeyInterval& interval, const std::vector<KeyInterval>& parts,
                           uint64_t* created, MemoryAccount* account)
    : created_(created), account_(account), end_(interval.end) {
  if (parts.empty()) parts_.push_back(interval);
  for (KeyInterval part : parts) {
    part.begin = std::max(part.begin, interval.begin);
    if (end_ && (!part.end || *end_ < *part.end)) part.end = end_;
    if (!part.end || part.begin < *part.end) parts_.push_back(std::move(part));
  }
  TakeNextPart();
}

void ClientRanges::TakeNextPart() {
  rest_.reset();
  if (parts_.empty()) return;
  rest_ = std::move(parts_.front());
  parts_.pop_front();
}

absl::StatusOr<ClientRange*> ClientRanges::Find(uint64_t number) {
  for (ClientRange& range : ranges_) {
    if (range.number == number) return &range;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the server speaks of range ", number, ", which is not open"));
}

absl::StatusOr<ClientRange*> ClientRanges::AddNext(std::optional<std::string> end) {
  KeyInterval interval{rest_->begin, std::move(end)};
  if (interval.end == rest_->end) {
    TakeNextPart();
  } else {
    rest_->begin = *interval.end;
  }
  const uint64_t number = next_range_;
  next_range_ += 2;
  return Add(ranges_.end(), number, std::move(interval));
}

void ClientRanges::GiveBack(ClientRange* range, const std::string& next_key) {
  if (rest_ && rest_->begin == range->interval.end) {
    rest_->begin = next_key;
  } else {
    if (rest_) parts_.push_front(*std::move(rest_));
    rest_ = KeyInterval{next_key, range->interval.end};
  }
  range->interval.end = next_key;
}

absl::Status ClientRanges::CutShort(ClientRange* range, const std::string& next_key) {
  const auto found = std::find_if(ranges_.begin(), ranges_.end(),
                                  [range](const ClientRange& other) { return &other == range; });
  const auto added =
      Add(std::next(found), next_cut_range_, KeyInterval{next_key, range->interval.end});
  next_cut_range_ += 2;
  range->interval.end = next_key;
  return added.status();
}

std::optional<KeyInterval> ClientRanges::Unfinished() const {
  if (ranges_.empty() && !rest_) return std::nullopt;
  return KeyInterval{ranges_.empty() ? rest_->begin : ranges_.front().interval.begin, end_};
}

absl::StatusOr<ClientRange*> ClientRanges::Add(List::iterator before, uint64_t number,
                                               KeyInterval interval) {
  // In the range, its reader, its result and its report.
  constexpr uint64_t kCopies = 4;
  const uint64_t bytes = interval.begin.size() + (interval.end ? interval.end->size() : 0);
  const auto range = ranges_.emplace(before, number, std::move(interval), account_);
  ++*created_;
  const absl::Status room =
      range->memory.Resize(sizeof(ClientRange) + kCopies * bytes, "fences of ranges");
  if (!room.ok()) return room;
  return &*range;
}

}  // namespace rocksieve::join
