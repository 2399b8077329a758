// SPDX-License-Identifier: Apache-2.0
#include "lib/range/cells.h"

namespace rocksieve::range {
namespace {

uint8_t FilledByte(std::string_view key, size_t at) {
  return at < key.size() ? ByteAt(key, at) : 0;
}

// Whether the leads are neighbours as numbers, a's before b's.
bool IsNextLead(std::string_view a, std::string_view b, size_t bytes) {
  size_t at = 0;
  while (at < bytes && FilledByte(a, at) == FilledByte(b, at)) at++;
  if (at == bytes || FilledByte(a, at) + 1 != FilledByte(b, at)) return false;
  for (at++; at < bytes; at++) {
    if (FilledByte(a, at) != 0xff || FilledByte(b, at) != 0) return false;
  }
  return true;
}

}  // namespace

size_t CommonPrefix(std::string_view a, std::string_view b) {
  const size_t size = std::min(a.size(), b.size());
  size_t at = 0;
  for (; at + 8 <= size; at += 8) {
    const uint64_t differing =
        LoadLittleEndian64(a.data() + at) ^ LoadLittleEndian64(b.data() + at);
    if (differing != 0) return at + static_cast<size_t>(__builtin_ctzll(differing)) / 8;
  }
  while (at < size && a[at] == b[at]) at++;
  return at;
}

bool SameLead(std::string_view a, std::string_view b, size_t bytes) {
  const size_t common = CommonPrefix(a.substr(0, bytes), b.substr(0, bytes));
  for (size_t at = common; at < bytes; at++) {
    if (FilledByte(a, at) != FilledByte(b, at)) return false;
    if (at >= a.size() && at >= b.size()) return true;
  }
  return true;
}

CellSpan SpanOf(std::string_view begin, std::string_view end, size_t depth) {
  const size_t lead = LeadBytes(depth);
  CellSpan span;
  span.first = NumberAt(begin, lead, depth - lead);
  span.last = NumberAt(end, lead, depth - lead);
  // Whether keys below `end` may lie in its own cell: such that go on behind it, or, as filling up
  // hides zeros, such that have fewer of them.
  const bool with_end = end.size() > depth || end.back() == '\0';
  if (lead == 0 || SameLead(begin, end, lead)) {
    if (!with_end && span.last == 0) return span;  // cannot be
    if (!with_end) span.last--;
    span.known = span.first <= span.last;
  } else if (!with_end && span.last == 0 && IsNextLead(begin, end, lead)) {
    // `end` is the first cell of the next lead, so that the last cell of this one is meant.
    span.last = UINT64_MAX;  // leads are followed by eight bytes
    span.known = true;
  }
  return span;
}

}  // namespace rocksieve::range
