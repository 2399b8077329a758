// SPDX-License-Identifier: Apache-2.0
#include "lib/sketch/pinsketch/root_sieve.h"

#include <algorithm>
#include <bit>

namespace rocksieve::pinsketch {
namespace {

constexpr uint32_t kTraces = 5;

uint32_t TraceOf(const Field& field, uint32_t a) {
  uint32_t trace = 0;
  for (int i = 0; i < field.bits(); i++) {
    trace ^= a;
    a = field.Multiply(a, a);
  }
  return trace;  // 0 or 1
}

}  // namespace

RootSieve::RootSieve(const Field& field, const PowerRows& rows) : field_(field), rows_(rows) {
  const auto bits = static_cast<uint32_t>(field.bits());
  std::vector<uint32_t> images(bits);
  for (uint32_t i = 0; i < bits; i++) {
    for (uint32_t j = 0; j < bits; j++) {
      images[i] |= TraceOf(field, field.Exp(field.ReduceOnce(i + j))) << j;
    }
  }
  masks_of_.Make(images);
}

bool RootSieve::Find(const Polynomial& p, std::span<const CellEntry> ids,
                     std::vector<uint32_t>* roots) {
  roots->clear();
  const size_t levels = p.size() / 2;  // of odd powers up to the degree
  if (levels > rows_.levels()) return false;
  log_p_.resize(p.size());
  for (size_t i = 0; i < p.size(); i++) log_p_[i] = field_.Log(p[i]);
  left_.resize(ids.size());
  for (size_t i = 0; i < ids.size(); i++) left_[i] = ids[i].id;
  size_t left = ids.size();
  for (uint32_t number = 0; number < kTraces; number++) {
    const uint32_t parity_of_roots = MakeMasks(p, number);
    left = rows_.Select(mask_, levels, parity_of_roots, std::span(left_).first(left));
  }
  for (size_t i = 0; i < left; i++) {
    if (IsRoot(p, left_[i])) roots->push_back(left_[i]);
  }
  std::sort(roots->begin(), roots->end());
  roots->erase(std::unique(roots->begin(), roots->end()), roots->end());
  return true;
}

uint32_t RootSieve::MakeMasks(const Polynomial& p, uint32_t number) {
  const uint32_t order = field_.order();
  mask_ = {};
  constants_.assign(p.size() / 2, 0);
  for (size_t j = 1; j < p.size(); j++) {
    if (p[j] == 0) continue;
    const int zeros = std::countr_zero(j);
    uint32_t log = field_.ReduceOnce(log_p_[j] + number);
    for (int s = 0; s < zeros; s++) log = (log % 2 == 0 ? log : log + order) / 2;
    constants_[(j >> zeros) / 2] ^= field_.Exp(log);
  }
  for (size_t level = 0; level < constants_.size(); level++) {
    mask_.Set(level, static_cast<uint16_t>(masks_of_.Of(constants_[level])));
  }
  return masks_of_.Of(field_.Exp(log_p_[0] + number)) & 1;
}

bool RootSieve::IsRoot(const Polynomial& p, uint32_t id) const {
  const uint32_t log_id = field_.Log(id);
  uint32_t log_power = 0, value = 0;
  for (size_t j = 0; j < p.size(); j++) {
    value ^= field_.Exp(log_p_[j] + log_power);
    log_power = field_.ReduceOnce(log_power + log_id);
  }
  return value == 0;
}

}  // namespace rocksieve::pinsketch
