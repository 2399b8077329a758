// SPDX-License-Identifier: Apache-2.0
#include "lib/range/builder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "lib/format/byte_io.h"
#include "lib/range/layout.h"
#include "lib/ribbon/builder.h"

namespace rocksieve::range {
namespace {

constexpr size_t kBoundBytesBehindCommonPrefix = 24;

// A part as it is stored.
struct Part {
  PartKind kind = PartKind::kKeys;
  uint8_t depth = 0;
  uint8_t parameter = 0;
  uint64_t entries = 0;
  std::string bytes;
};

Part RibbonPart(HashList hashes, const PartPlan& plan, bool thorough) {
  Part part;
  part.kind = plan.kind;
  part.depth = static_cast<uint8_t>(plan.depth);
  part.entries = hashes.size();
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
  Part part;
  part.kind = plan.kind;
  part.depth = static_cast<uint8_t>(plan.depth);
  part.entries = plan.entries;
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
    out.U8(static_cast<uint8_t>(part.kind));
    out.U8(part.depth);
    out.U8(part.parameter);
    out.U8(0);
    out.U32(static_cast<uint32_t>(part.bytes.size()));
    out.U64(part.entries);
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
