// SPDX-License-Identifier: Apache-2.0
#include "lib/sketch/pinsketch/root_finder.h"

#include <algorithm>
#include <bit>
#include <utility>

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

RootFinder::RootFinder(const Field& field, const PowerRows* rows)
    : field_(field), frobenius_(field.bits() <= kMostFrobeniusBits ? ActiveFrobenius() : nullptr) {
  if (rows != nullptr) sieve_.emplace(field, *rows);
}

bool RootFinder::Find(const Polynomial& p, std::span<const CellEntry> likely,
                      std::vector<uint32_t>* roots) {
  roots->clear();
  degree_ = p.size() - 1;
  if (degree_ == 1) {
    roots->push_back(p[0]);
    return true;
  }
  if (!MakeFrobeniusPowers(p)) return false;
  traces_.resize(static_cast<size_t>(field_.bits()));
  for (Polynomial& trace : traces_) trace.clear();
  parts_.resize(traces_.size());
  rest_ = p;
  TakeLikely(likely, &rest_, roots);
  if (rest_.size() > 1) Split(rest_, 0, roots);
  return roots->size() == degree_;
}

void RootFinder::TakeLikely(std::span<const CellEntry> likely, Polynomial* p,
                            std::vector<uint32_t>* roots) {
  constexpr size_t kFew = 5;  // coefficients: such roots are found at once
  if (!sieve_ || p->size() <= kFew || !sieve_->Find(*p, likely, roots)) return;
  for (const uint32_t root : *roots) {
    linear_.assign({root, 1});
    DivideBy(field_, linear_, p);
  }
}

// Fills log_powers_; true if x^(2^bits) = x.
bool RootFinder::MakeFrobeniusPowers(const Polynomial& p) {
  const size_t d = degree_, bits = static_cast<size_t>(field_.bits());
  if (frobenius_ != nullptr && d <= kMostFrobeniusDegree) {
    row_.resize(bits * d);
    if (!frobenius_(field_, p.data(), d, row_.data())) return false;
    log_powers_.resize(bits * d);
    for (size_t i = 0; i < bits * d; i++) log_powers_[i] = field_.Log(row_[i]);
    return true;
  }
  log_p_.resize(d);
  for (size_t j = 0; j < d; j++) log_p_[j] = field_.Log(p[j]);
  // x^(d + i) = x * x^(d + i - 1): shift, and replace x^d. Only even powers appear in squares, but
  // each is made from the one before.
  log_reduction_.resize(d * d);
  row_.assign(p.begin(), p.end() - 1);
  for (size_t i = 0; i < d; i++) {
    if (i > 0) {
      const uint32_t log_top = field_.Log(row_[d - 1]);
      for (size_t j = d - 1; j > 0; j--) row_[j] = row_[j - 1] ^ field_.Exp(log_p_[j] + log_top);
      row_[0] = field_.Exp(log_p_[0] + log_top);
    }
    for (size_t j = 0; j < d; j++) log_reduction_[i * d + j] = field_.Log(row_[j]);
  }
  log_powers_.resize(bits * d);
  row_.assign(d, 0);
  row_[1] = 1;
  for (size_t i = 0; i < bits; i++) {
    uint32_t* const logs = &log_powers_[i * d];
    for (size_t j = 0; j < d; j++) logs[j] = field_.Log(row_[j]);
    square_.assign(d, 0);
    for (size_t j = 0; 2 * j < d; j++) square_[2 * j] = field_.Exp(2 * logs[j]);
    for (size_t j = (d + 1) / 2; j < d; j++) {
      if (row_[j] == 0) continue;
      const uint32_t log_square = field_.ReduceOnce(2 * logs[j]);
      const uint32_t* const reduced = &log_reduction_[(2 * j - d) * d];
      for (size_t l = 0; l < d; l++) square_[l] ^= field_.Exp(reduced[l] + log_square);
    }
    row_.swap(square_);
  }
  for (size_t j = 0; j < d; j++) {
    if (row_[j] != (j == 1)) return false;
  }
  return true;
}

const Polynomial& RootFinder::TraceOf(int basis_element) {
  Polynomial& trace = traces_[static_cast<size_t>(basis_element)];
  if (!trace.empty()) return trace;
  trace.assign(degree_, 0);
  uint32_t log_b = static_cast<uint32_t>(basis_element);  // of b^(2^i)
  for (size_t i = 0; i < static_cast<size_t>(field_.bits()); i++) {
    const uint32_t* const power = &log_powers_[i * degree_];
    for (size_t j = 0; j < degree_; j++) trace[j] ^= field_.Exp(power[j] + log_b);
    log_b = field_.ReduceOnce(2 * log_b);
  }
  return trace;
}

void RootFinder::Split(const Polynomial& p, int basis_element, std::vector<uint32_t>* roots) {
  if (p.size() == 2) {
    roots->push_back(p[0]);
    return;
  }
  for (; basis_element < field_.bits(); basis_element++) {
    auto& [one, other, trace] = parts_[static_cast<size_t>(basis_element)];
    trace = TraceOf(basis_element);
    Reduce(field_, p, &trace);
    if (trace.size() <= 1) continue;  // constant: all roots on one side
    one = p;
    TakeGcd(field_, &one, &trace);
    if (one.size() <= 1 || one.size() == p.size()) continue;
    other = p;
    DivideBy(field_, one, &other);
    Split(one, basis_element + 1, roots);
    Split(other, basis_element + 1, roots);
    return;
  }
}

}  // namespace rocksieve::pinsketch
