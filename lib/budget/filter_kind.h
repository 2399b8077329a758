// The filters that a budget can be spent on: ours, RocksDB's, and none.
#pragma once

#include <string_view>

#include <rocksieve/filter_spec.h>

namespace rocksieve {

enum class FilterKind { kNone, kBloom, kCuckoo, kRibbon, kBuiltinBloom, kBuiltinRibbon };

inline constexpr FilterKind kFilterKinds[] = {
    FilterKind::kNone,   FilterKind::kBloom,        FilterKind::kCuckoo,
    FilterKind::kRibbon, FilterKind::kBuiltinBloom, FilterKind::kBuiltinRibbon};

// "none", "bloom", .. "builtin-ribbon".
constexpr std::string_view NameOf(FilterKind kind) {
  switch (kind) {
    case FilterKind::kNone:
      return "none";
    case FilterKind::kBloom:
      return "bloom";
    case FilterKind::kCuckoo:
      return "cuckoo";
    case FilterKind::kRibbon:
      return "ribbon";
    case FilterKind::kBuiltinBloom:
      return "builtin-bloom";
    case FilterKind::kBuiltinRibbon:
      return "builtin-ribbon";
  }
  return "?";
}

constexpr bool IsOurs(FilterKind kind) {
  return kind == FilterKind::kBloom || kind == FilterKind::kCuckoo || kind == FilterKind::kRibbon;
}

constexpr FilterKind KindOf(Family family) {
  switch (family) {
    case Family::kBloom:
      return FilterKind::kBloom;
    case Family::kCuckoo:
      return FilterKind::kCuckoo;
    case Family::kRibbon:
      return FilterKind::kRibbon;
  }
  return FilterKind::kNone;
}

// REQUIRES: IsOurs(kind).
constexpr Family FamilyOf(FilterKind kind) {
  return kind == FilterKind::kBloom    ? Family::kBloom
         : kind == FilterKind::kCuckoo ? Family::kCuckoo
                                       : Family::kRibbon;
}

}  // namespace rocksieve
