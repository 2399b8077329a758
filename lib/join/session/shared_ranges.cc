// SPDX-License-Identifier: Apache-2.0
#include "lib/join/session/shared_ranges.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace rocksieve::join {

// Guarded by SharedRanges::mutex_, apart from the filter.
class SharedRanges::Range {
 public:
  Range(KeyInterval range_interval, uint64_t range_salt)
      : interval(std::move(range_interval)), salt(range_salt) {}

  std::shared_ptr<const FilterBlock> Make(FilterSpec* spec, const Candidates& candidates,
                                          uint64_t message_salt, bool* built) {
    const std::lock_guard<std::mutex> lock(filter_mutex_);
    *built = false;
    // The salt tells that it is the same message of the range, the count that it is of all keys. A
    // filter of half or twice the rate serves nearly as well.
    if (filter_ != nullptr && message_salt_ == message_salt && keys_ == candidates.size() &&
        spec_.family == spec->family && spec_.unit == spec->unit &&
        spec_.amount <= 2 * spec->amount && 2 * spec_.amount >= spec->amount) {
      *spec = spec_;
      return filter_;
    }
    *built = true;
    std::shared_ptr<const FilterBlock> made = MakeFilter(*spec, candidates, message_salt);
    if (candidates.size() != keys_in_range_) return made;
    spec_ = *spec;
    message_salt_ = message_salt;
    keys_ = candidates.size();
    return filter_ = made;
  }

  void Finish(std::shared_ptr<const RangeKeys> scanned) {
    keys_in_range_ = scanned->candidates.size();
    keys = std::move(scanned);
  }

  const KeyInterval interval;
  const uint64_t salt;
  bool scanning = true;
  std::shared_ptr<const RangeKeys> keys;  // null while they are scanned, or if that failed
  std::set<Member*> taken_by;

 private:
  std::mutex filter_mutex_;
  size_t keys_in_range_ = 0;
  FilterSpec spec_;
  uint64_t message_salt_ = 0;
  size_t keys_ = 0;  // that the filter is of
  std::shared_ptr<const FilterBlock> filter_;
};

SharedRanges::Member::Member(SharedRanges* ranges) : ranges_(ranges) {
  const std::lock_guard<std::mutex> lock(ranges->mutex_);
  ranges->members_.insert(this);
}

SharedRanges::Member::~Member() { Leave(); }

void SharedRanges::Member::Leave() {
  const std::lock_guard<std::mutex> lock(ranges_->mutex_);
  ranges_->members_.erase(this);
  ranges_->DropUnwanted();
}

absl::Status SharedRanges::Member::Take(Source* source, const KeyInterval& interval,
                                        uint64_t range_salt, uint64_t most_keys, RangeKeys* keys,
                                        FilterMaker* filters, bool* scanned) {
  std::unique_lock<std::mutex> lock(ranges_->mutex_);
  *scanned = true;
  std::shared_ptr<Range> range = ranges_->Find(interval, range_salt);
  if (range != nullptr) {
    ranges_->changed_.wait(lock, [&range] { return !range->scanning; });
    if (range->keys != nullptr) {
      const std::shared_ptr<const RangeKeys> found = range->keys;
      behind_ = false;
      range->taken_by.insert(this);
      ranges_->DropUnwanted();
      lock.unlock();
      *scanned = false;
      *keys = *found;
      *filters = std::bind_front(&Range::Make, std::move(range));
      return absl::OkStatus();
    }
  }
  const bool is_new = range == nullptr && ranges_->members_.count(this) != 0 &&
                      (ranges_->next_.empty() || interval.begin >= ranges_->next_);
  if (!is_new) {  // the others are done with it, or could not scan it
    lock.unlock();
    return ScanKeys(source, interval, range_salt, most_keys, keys);
  }
  behind_ = false;
  range = std::make_shared<Range>(interval, range_salt);
  range->taken_by.insert(this);
  ranges_->kept_.push_back(range);
  ranges_->next_ = interval.begin + '\0';
  ranges_->WaitForRoom(&lock);
  lock.unlock();
  absl::Status status;
  std::shared_ptr<const RangeKeys> scanned_keys;
  try {
    status = ScanKeys(source, interval, range_salt, most_keys, keys);
    if (status.ok()) scanned_keys = std::make_shared<const RangeKeys>(*keys);
  } catch (...) {  // of memory there is no more: others must not wait for the range for ever
    lock.lock();
    ranges_->EndScan(range, nullptr);
    throw;
  }
  lock.lock();
  ranges_->EndScan(range, std::move(scanned_keys));
  lock.unlock();
  *filters = std::bind_front(&Range::Make, std::move(range));
  return status;
}

void SharedRanges::EndScan(const std::shared_ptr<Range>& range,
                           std::shared_ptr<const RangeKeys> keys) {
  range->scanning = false;
  if (keys != nullptr) {
    range->Finish(std::move(keys));
  } else {
    kept_.remove(range);
  }
  DropUnwanted();
}

std::shared_ptr<SharedRanges::Range> SharedRanges::Find(const KeyInterval& interval,
                                                        uint64_t salt) const {
  for (const std::shared_ptr<Range>& range : kept_) {
    if (range->interval == interval && range->salt == salt) return range;
  }
  return nullptr;
}

// Of the members that are not behind, one has not taken it.
bool SharedRanges::IsWanted(const Range& range) const {
  return range.scanning || std::any_of(members_.begin(), members_.end(), [&](Member* member) {
           return !member->behind_ && range.taken_by.count(member) == 0;
         });
}

void SharedRanges::DropUnwanted() {
  kept_.remove_if([this](const std::shared_ptr<Range>& range) {
    if (IsWanted(*range)) return false;
    range->keys.reset();  // whoever still has the range wants its filter only
    return true;
  });
  changed_.notify_all();
}

void SharedRanges::WaitForRoom(std::unique_lock<std::mutex>* lock) {
  const auto has_room = [this] { return kept_.size() <= options_.most_kept; };
  while (!changed_.wait_for(*lock, options_.patience, has_room)) {
    const std::shared_ptr<Range> oldest = kept_.front();
    if (oldest->scanning) continue;
    for (Member* member : members_) {
      if (oldest->taken_by.count(member) == 0) member->behind_ = true;
    }
    DropUnwanted();
  }
}

}  // namespace rocksieve::join
