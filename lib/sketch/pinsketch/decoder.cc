// SPDX-License-Identifier: Apache-2.0
#include "lib/sketch/pinsketch/decoder.h"

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

void ShiftRegister::Clear() {
  log_sums_.assign(1, 0);
  locator_.assign(1, 1);
  previous_.assign(1, 1);
  length_ = 0;
  shift_ = 1;
  previous_discrepancy_ = 1;
}

uint32_t ShiftRegister::DiscrepancyOf(const Field& field, uint32_t sum) const {
  const size_t n = log_sums_.size() - 1;  // sum is that of the power n + 1
  const size_t end = std::min(length_ + 1, locator_.size());
  for (size_t i = 1; i < end; i++) {
    sum ^= field.MultiplyByExp(locator_[i], log_sums_[n + 1 - i]);
  }
  return sum;
}

void ShiftRegister::Add(const Field& field, uint32_t sum) {
  const size_t n = log_sums_.size() - 1;
  const uint32_t discrepancy = DiscrepancyOf(field, sum);
  log_sums_.push_back(field.Log(sum));
  const uint32_t log_root = log_sums_[n / 2 + 1];  // of the even power n + 2
  const bool is_zero = log_root == field.Log(0);
  log_sums_.push_back(is_zero ? log_root : field.ReduceOnce(2 * log_root));
  if (discrepancy == 0) {
    shift_ += 2;
    return;
  }
  const uint32_t log_factor = field.ReduceLog(uint64_t{field.Log(discrepancy)} + field.order() -
                                              field.Log(previous_discrepancy_));
  const size_t size = std::max(locator_.size(), previous_.size() + shift_);
  locator_.resize(size);
  const bool grows = 2 * length_ <= n;
  if (!grows) {
    for (size_t i = 0; i < previous_.size(); i++) {
      locator_[i + shift_] ^= field.MultiplyByExp(previous_[i], log_factor);
    }
    shift_ += 2;
    return;
  }
  // The sum takes the place of the previous one, from the top down, and that of the locator.
  previous_.resize(size);
  for (size_t i = size; i-- > 0;) {
    const uint32_t shifted = i < shift_ ? 0 : previous_[i - shift_];
    previous_[i] = locator_[i] ^ field.MultiplyByExp(shifted, log_factor);
  }
  previous_.swap(locator_);
  length_ = n + 1 - length_;
  previous_discrepancy_ = discrepancy;
  shift_ = 2;
}

bool ShiftRegister::Reversed(Polynomial* reversed) const {
  // The locator's degree must be the length: then its roots, being distinct, explain all the sums.
  if (length_ > sums() || locator_.size() <= length_ || locator_[length_] == 0) return false;
  reversed->resize(length_ + 1);
  for (size_t i = 0; i <= length_; i++) (*reversed)[length_ - i] = locator_[i];
  return true;
}

void ShiftRegister::Save(PageVector<uint32_t>* words) const {
  for (const std::vector<uint32_t>* part : {&log_sums_, &locator_, &previous_}) {
    words->push_back(static_cast<uint32_t>(part->size()));
    words->insert(words->end(), part->begin(), part->end());
  }
  words->push_back(static_cast<uint32_t>(length_));
  words->push_back(static_cast<uint32_t>(shift_));
  words->push_back(previous_discrepancy_);
}

const uint32_t* ShiftRegister::Load(const uint32_t* words) {
  for (std::vector<uint32_t>* part : {&log_sums_, &locator_, &previous_}) {
    const uint32_t size = *words++;
    part->assign(words, words + size);
    words += size;
  }
  length_ = *words++;
  shift_ = *words++;
  previous_discrepancy_ = *words++;
  return words;
}

bool Decoder::Decode(const ShiftRegister& sums, std::span<const CellEntry> likely,
                     std::vector<uint32_t>* ids) {
  ids->clear();
  if (sums.is_zero()) return true;
  if (!sums.Reversed(&locator_) || !roots_.Find(locator_, likely, ids)) return false;
  std::sort(ids->begin(), ids->end());
  return true;
}

}  // namespace rocksieve::pinsketch
