#include "plugin/probe/keys_that_meet.h"

#include <algorithm>

namespace rocksieve {
namespace {

auto OrderOf(const ColumnFamily& family) {
  return [&family](const std::string& a, const std::string& b) { return family.Compare(a, b) < 0; };
}

}  // namespace

void SortKeys(const ColumnFamily& family, Keys* keys) {
  std::sort(keys->begin(), keys->end(), OrderOf(family));
}

KeySpan KeysThatMeet(const Tree& tree, const TreeFile& file, const Keys& keys) {
  if (!tree.family.comparator_known) return {0, keys.size()};
  const auto before = OrderOf(tree.family);
  const auto begin = tree.ChecksRanges()
                         ? std::lower_bound(keys.begin(), keys.end(), file.smallest, before)
                         : keys.begin();
  const auto end = std::upper_bound(begin, keys.end(), file.largest, before);
  return {static_cast<size_t>(begin - keys.begin()), static_cast<size_t>(end - keys.begin())};
}

}  // namespace rocksieve
