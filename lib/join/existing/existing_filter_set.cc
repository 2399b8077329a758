#include "lib/join/existing/existing_filter_set.h"

#include <utility>

#include "lib/hash/key_hash.h"
#include "lib/join/existing/existing_filter_stream.h"

namespace rocksieve::join {
namespace {

constexpr uint64_t kBytesPerMember = 256;  // beside its keys and its block
// More filters within whose fences one key lies than any tree has runs: from there on every key may
// be there. Else a hostile side could make each key cost as much as all of its filters.
constexpr size_t kMostOpen = 512;

}  // namespace

bool ExistingFilterSet::Member::MayContain(std::string_view key) const {
  if (ours != nullptr) return ours->MayContain(key);
  return builtin == nullptr || builtin->MayContain(key);
}

bool ExistingFilterSet::Add(ExistingFilter filter) {
  if (filter.largest < filter.smallest || filter.smallest < covered_end()) return false;
  auto member = std::make_unique<Member>();
  member->filter = std::move(filter);
  const ExistingFilter& kept = member->filter;
  member->digest = HashKey(kept.block, HashKey(FrontOf(kept), DigestOf(size())));
  if (kept.format == FilterFormat::kOurs) {
    member->ours = OpenFilter(kept.block).filter;
  } else if (kept.format == FilterFormat::kRocksDbBuiltin && decode_builtin_) {
    member->builtin = decode_builtin_(kept.block);
  }
  bytes_ += BytesOf(kept);
  members_.push_back(std::move(member));
  return true;
}

uint64_t ExistingFilterSet::BytesOf(const ExistingFilter& filter) {
  return filter.smallest.size() + filter.largest.size() + filter.block.size() + kBytesPerMember;
}

bool ExistingFilterSet::Sweep::MayContain(std::string_view key) {
  if (crowded_) return true;
  for (; next_ < set_.members_.size() && set_.members_[next_]->filter.smallest <= key; next_++) {
    open_.push_back(set_.members_[next_].get());
  }
  bool may_contain = false;
  size_t kept = 0;
  for (const Member* member : open_) {
    if (member->filter.largest < key) continue;
    open_[kept++] = member;
    if (!may_contain) may_contain = member->MayContain(key);
  }
  open_.resize(kept);
  crowded_ = kept > kMostOpen;
  return may_contain || crowded_;
}

}  // namespace rocksieve::join
