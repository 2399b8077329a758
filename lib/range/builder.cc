// SPDX-License-Identifier: Apache-2.0
#include "lib/range/builder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "lib/format/byte_io.h"
#include "lib/range/code_set.h"
#include "lib/range/reader.h"
#include "lib/ribbon/builder.h"

namespace rocksieve::range {
namespace {

// What is assumed to be asked, as long as nobody says: as many lookups as ranges, of 16 values, and
// half as many prefixes of each length. By PartKind.
constexpr double kPrefixWeight = 0.5, kOrderWeight = 16, kKeysWeight = 1;
constexpr double kAssumedWeights[] = {0, kPrefixWeight, kOrderWeight, kKeysWeight};
constexpr double kLeastBitsPerEntry = 1, kMostBitsPerEntry = 30;

// What an entry of a part takes beyond log2 of one over its rate.
double ExtraBits(const PartPlan& part, double bits_per_entry) {
  if (part.kind != PartKind::kOrder) return 0;
  return bits_per_entry - Log2GapFor(bits_per_entry);
}

// Lengths of prefixes that fewer of the ranges are asked for get no part.
constexpr double kLeastShareOfLength = 0.02;

// Queries of the part, times the cells that it is asked for each time.
double WeightOf(const PartPlan& part, const QueryMix& mix) {
  const auto all = static_cast<double>(mix.count());
  if (all == 0) return kAssumedWeights[static_cast<int>(part.kind)];
  double weight = 0;
  switch (part.kind) {
    case PartKind::kPrefixes:
      weight = static_cast<double>(mix.ranges[part.depth]);
      break;
    case PartKind::kOrder:
      // Ranges that are small at its depth, and those that are a byte above.
      weight = static_cast<double>(mix.cells_below[part.depth - 1]);
      for (size_t depth = part.depth; depth <= kMaxDepth; depth++) {
        weight += kCellsOfSmallRange * static_cast<double>(mix.ranges[depth]);
      }
      weight = std::max(weight, kCellsOfSmallRange * mix.least_share * all);
      // Where keys are not kept apart, it is asked for them, too.
      return weight + static_cast<double>(mix.lookups);
    case PartKind::kKeys:
      weight = static_cast<double>(mix.lookups);
      break;
  }
  return std::max(weight, mix.least_share * all);
}

// Lengths of the prefixes that are asked for most, if at all: between the common prefix and what
// the order is asked for.
std::vector<size_t> LengthsFromQueries(const KeyList& keys, const QueryMix& mix, size_t below) {
  const double least = kLeastShareOfLength * static_cast<double>(mix.range_count());
  std::vector<size_t> lengths;
  for (size_t depth = keys.common_prefix() + 1; depth < below; depth++) {
    if (mix.ranges[depth] > 0 && static_cast<double>(mix.ranges[depth]) >= least) {
      lengths.push_back(depth);
    }
  }
  std::sort(lengths.begin(), lengths.end(),
            [&mix](size_t a, size_t b) { return mix.ranges[a] > mix.ranges[b]; });
  lengths.resize(std::min(lengths.size(), kMaxPrefixLengths));
  std::sort(lengths.begin(), lengths.end());
  return lengths;
}

// Lengths at which few of the keys differ, so that to know them costs little: at most 15 %, 5 % and
// 1.5 % of all. Of lengths that tell about as much, the shortest.
std::vector<size_t> LengthsFromKeys(const KeyList& keys, size_t below) {
  std::vector<size_t> lengths;
  const auto count = static_cast<double>(keys.size());
  const size_t common = keys.common_prefix();
  const auto distinct = [&](size_t depth) { return static_cast<double>(keys.DistinctAt(depth)); };
  for (const double share : {0.015, 0.05, 0.15}) {
    size_t depth = std::min(below - 1, kMaxDepth);
    while (depth > common && distinct(depth) > share * count) depth--;
    while (depth > common + 1 && distinct(depth - 1) > 0.97 * distinct(depth)) depth--;
    // Nearly every prefix of the length is there: it would refuse nothing.
    const bool is_full =
        depth - std::min(depth, common) < 7 &&
        distinct(depth) > 0.3 * std::ldexp(1, 8 * static_cast<int>(depth - common));
    if (depth <= common || is_full) continue;
    if (lengths.empty() || lengths.back() < depth) lengths.push_back(depth);
  }
  return lengths;
}

// Keys of one length are numbers for all that anybody knows; of text, neighbours say nothing.
bool HasNumbers(const KeyList& keys) {
  return keys.shortest() == keys.longest() && keys.longest() <= kMaxDepth && keys.longest() > 0;
}

// Depths of the order that are worth a thought; 0: no order.
std::vector<size_t> OrderDepths(const KeyList& keys, const Options& options) {
  if (options.order_depth >= 0) return {static_cast<size_t>(options.order_depth)};
  if (!HasNumbers(keys)) return {0};
  if (options.mix.count() == 0) return {keys.longest()};
  return {keys.longest(), 0};
}

std::vector<size_t> PrefixLengths(const KeyList& keys, const Options& options, size_t order_depth,
                                  bool has_keys) {
  std::vector<size_t> lengths;
  if (options.prefix_lengths[0] != 0) {
    for (const size_t length : options.prefix_lengths) {
      if (length > 0 && (has_keys || length < order_depth)) lengths.push_back(length);
    }
  } else if (options.mix.count() > 0) {
    // Of the last two bytes of numbers, an order alone knows enough.
    const size_t numbers = order_depth == 0 && HasNumbers(keys) ? keys.longest() : order_depth;
    const size_t deepest = std::min(keys.longest(), kMaxDepth);
    lengths = LengthsFromQueries(keys, options.mix, numbers > 0 ? numbers - 1 : deepest + 1);
  } else if (keys.longest() > 0) {
    lengths = LengthsFromKeys(keys, order_depth > 0 ? order_depth : keys.longest());
  }
  return lengths;
}

std::vector<PartPlan> PartsOf(const KeyList& keys, const Options& options, size_t order_depth) {
  const bool has_keys = order_depth < keys.longest() || order_depth == 0;
  std::vector<PartPlan> parts;
  for (const size_t length : PrefixLengths(keys, options, order_depth, has_keys)) {
    parts.push_back({PartKind::kPrefixes, length, keys.DistinctAt(length), 0});
  }
  if (order_depth > 0) {
    parts.push_back({PartKind::kOrder, order_depth, keys.DistinctAt(order_depth), 0});
  }
  if (has_keys) parts.push_back({PartKind::kKeys, 0, keys.size(), 0});
  return parts;
}

// Ranges of the mix that no part answers, or only one that most of them pass.
double UnansweredRanges(const std::vector<PartPlan>& parts, const QueryMix& mix) {
  double answered = 0;
  bool has_order = false;
  for (const PartPlan& part : parts) {
    if (part.kind == PartKind::kPrefixes) answered += static_cast<double>(mix.ranges[part.depth]);
    if (part.kind != PartKind::kOrder) continue;
    has_order = true;
    for (size_t depth = part.depth - 1; depth <= kMaxDepth; depth++) {
      answered += static_cast<double>(mix.ranges[depth]);
    }
  }
  const double unheard = has_order ? 0 : mix.least_share * static_cast<double>(mix.count());
  return static_cast<double>(mix.range_count()) - answered + unheard;
}

// Parts that share `bits`, and how many queries of the mix pass them by mistake.
struct Plan {
  std::vector<PartPlan> parts;
  double mistakes = 0;
};

Plan PlanWith(const KeyList& keys, const Options& options, size_t order_depth, double bits) {
  Plan plan;
  plan.parts = PartsOf(keys, options, order_depth);
  const auto count = static_cast<double>(keys.size());
  const auto share_out = [&](double level) {
    double sum = 0;
    plan.mistakes = UnansweredRanges(plan.parts, options.mix);
    for (PartPlan& part : plan.parts) {
      const auto entries = static_cast<double>(part.entries);
      const double weight = WeightOf(part, options.mix);
      double width = level + std::log2(weight * count / entries);
      width = std::clamp(width, kLeastBitsPerEntry, kMostBitsPerEntry);
      plan.mistakes += weight * std::exp2(-width);
      if (part.kind == PartKind::kOrder) width += ExtraBits(part, width + 1.6);
      part.bits = width * entries;
      sum += part.bits;
    }
    return sum;
  };
  double low = -40, high = 40;
  for (int step = 0; step < 40; step++) {
    const double middle = (low + high) / 2;
    (share_out(middle) <= bits ? low : high) = middle;
  }
  // What the limits of each part left over, or took too much, is the last one's.
  const double left = bits - share_out(low);
  plan.parts.back().bits = std::max(1.0, plan.parts.back().bits + left);
  return plan;
}

}  // namespace

std::vector<PartPlan> PlanParts(const KeyList& keys, const Options& options, double bits) {
  Plan best;
  for (const size_t order_depth : OrderDepths(keys, options)) {
    Plan plan = PlanWith(keys, options, order_depth, bits);
    if (best.parts.empty() || plan.mistakes < best.mistakes) best = std::move(plan);
  }
  return best.parts;
}

namespace {

constexpr size_t kBoundBytesBehindCommonPrefix = 24;

// A part as it is stored.
struct Part {
  PartPlan plan;
  uint8_t parameter = 0;
  std::string bytes;
};

Part RibbonPart(HashList hashes, const PartPlan& plan, bool thorough) {
  Part part{plan, 0, {}};
  part.plan.entries = hashes.size();
  Budget budget;
  budget.amount = std::max(plan.bits / static_cast<double>(hashes.size()), ribbon::kMinBitsPerKey);
  budget.amount = std::min(budget.amount, ribbon::kMaxBitsPerKey);
  budget.thorough = thorough;
  const ribbon::Plan ribbon_plan = ribbon::PlanFor(hashes.size(), budget);
  const Payload payload = ribbon::Build(std::move(hashes), ribbon_plan, 0, 0);
  part.parameter = payload.parameter;
  part.bytes.assign(payload.data.get(), payload.size);
  return part;
}

// Hashes of the cells at the plan's depth, or of whole keys.
HashList HashesOf(const KeyList& keys, const PartPlan& plan, uint64_t salt) {
  HashList hashes;
  keys.ForEach([&](std::string_view key, size_t shared) {
    const bool is_whole = plan.kind == PartKind::kKeys;
    if (!is_whole && !hashes.empty() && shared >= plan.depth) return;
    const uint64_t hash = is_whole ? HashKey(key, salt) : CellHash(key, plan.depth, salt);
    if (hashes.empty() || hashes.back() != hash) hashes.push_back(hash);
  });
  return hashes;
}

void WriteOrderHead(int block_bits, uint64_t lead_hash, uint64_t first, std::string* bytes) {
  ByteWriter out(bytes);
  out.U64(static_cast<uint64_t>(block_bits));
  out.U64(lead_hash);
  out.U64(first);
}

// Where the numbers themselves fit below the universe that the bits afford, nothing is hashed, and
// answers are exact.
bool BuildExactOrder(const KeyList& keys, const PartPlan& plan, uint64_t salt, std::string* bytes) {
  if (!SameLead(keys.first(), keys.last(), LeadBytes(plan.depth))) return false;
  const uint64_t first = NumberOf(keys.first(), plan.depth);
  const uint64_t span = NumberOf(keys.last(), plan.depth) - first;
  const auto entries = static_cast<double>(plan.entries);
  if (static_cast<double>(span) >= std::exp2(Log2GapFor(plan.bits / entries)) * entries ||
      span >= kMaxUniverse / 2) {
    return false;
  }
  std::vector<uint64_t> codes;
  codes.reserve(plan.entries);
  keys.ForEach([&](std::string_view key, size_t) {
    const uint64_t code = NumberOf(key, plan.depth) - first;
    if (codes.empty() || codes.back() != code) codes.push_back(code);
  });
  WriteOrderHead(0, LeadHash(keys.first(), plan.depth, salt), first, bytes);
  if (BuildExactCodes(codes, span + 1, bytes)) return true;
  bytes->clear();
  return false;
}

Part OrderPart(const KeyList& keys, const PartPlan& plan, uint64_t salt) {
  Part part{plan, 0, {}};
  if (BuildExactOrder(keys, plan, salt, &part.bytes)) return part;
  std::vector<uint64_t> places;
  places.reserve(plan.entries);
  uint64_t lead_hash = 0;
  const size_t lead = LeadBytes(plan.depth);
  keys.ForEach([&](std::string_view key, size_t shared) {
    if (places.empty() || shared < lead) lead_hash = LeadHash(key, plan.depth, salt);
    const uint64_t place = PlaceOf(lead_hash, NumberOf(key, plan.depth));
    if (places.empty() || places.back() != place) places.push_back(place);
  });
  WriteOrderHead(kBlockBits, 0, 0, &part.bytes);
  BuildHashedCodes(std::move(places), plan.bits - 8 * kOrderHeadBytes, &part.bytes);
  return part;
}

Payload Assemble(const std::vector<Part>& parts, bool is_partition, std::string_view bound,
                 size_t shortest, size_t head_room, size_t tail_room) {
  std::string head;
  ByteWriter out(&head);
  out.U8(static_cast<uint8_t>(parts.size()));
  out.U8(is_partition ? kFlagPartition : 0);
  out.U8(static_cast<uint8_t>(bound.size()));
  out.U8(static_cast<uint8_t>(std::min(shortest, kMaxDepth)));
  size_t size = 0;
  for (const Part& part : parts) {
    out.U8(static_cast<uint8_t>(part.plan.kind));
    out.U8(static_cast<uint8_t>(part.plan.depth));
    out.U8(part.parameter);
    out.U8(0);
    out.U32(static_cast<uint32_t>(part.bytes.size()));
    out.U64(part.plan.entries);
    size += part.bytes.size();
  }
  out.Bytes(bound);
  Payload payload;
  payload.parameter = static_cast<uint8_t>(parts.size());
  payload.size = head.size() + size;
  payload.data.reset(new char[head_room + payload.size + tail_room]);
  char* at = payload.data.get() + head_room;
  std::memcpy(at, head.data(), head.size());
  at += head.size();
  for (const Part& part : parts) {
    std::memcpy(at, part.bytes.data(), part.bytes.size());
    at += part.bytes.size();
  }
  return payload;
}

// What is not for keys is not taken from them where they are few.
double BitsForParts(double bits, size_t parts, size_t bound) {
  const double head = 8.0 * static_cast<double>(kHeadBytes + parts * kPartHeadBytes + bound);
  return bits - std::min(head, kLargestOverheadShare * bits);
}

}  // namespace

Payload Build(const KeyList& keys, const Request& request, size_t head_room, size_t tail_room) {
  if (!request.answers_ranges) {
    HashList hashes = HashesOf(keys, PartPlan(), request.salt);
    return BuildOfHashes(std::move(hashes), request, head_room, tail_room);
  }
  std::string_view bound;
  if (request.is_partition) {
    bound = keys.last().substr(
        0, std::min(keys.common_prefix() + kBoundBytesBehindCommonPrefix, kMaxDepth));
  }
  std::vector<PartPlan> plans = PlanParts(keys, request.options, request.bits);
  double left = BitsForParts(request.bits, plans.size(), bound.size());
  plans = PlanParts(keys, request.options, left);
  std::vector<Part> parts;
  for (PartPlan& plan : plans) {
    // The last one gets what the others left, which is not always what they were given.
    if (parts.size() + 1 == plans.size()) plan.bits = std::max(left, 1.0);
    parts.push_back(plan.kind == PartKind::kOrder
                        ? OrderPart(keys, plan, request.salt)
                        : RibbonPart(HashesOf(keys, plan, request.salt), plan, request.thorough));
    left -= 8.0 * static_cast<double>(parts.back().bytes.size());
  }
  return Assemble(parts, request.is_partition, bound, keys.shortest(), head_room, tail_room);
}

Payload BuildOfHashes(HashList hashes, const Request& request, size_t head_room, size_t tail_room) {
  PartPlan plan;
  plan.bits = BitsForParts(request.bits, 1, 0);
  const Part part = RibbonPart(std::move(hashes), plan, request.thorough);
  return Assemble({part}, /*is_partition=*/false, /*bound=*/"", /*shortest=*/0, head_room,
                  tail_room);
}

}  // namespace rocksieve::range
