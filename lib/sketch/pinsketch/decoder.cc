// SPDX-License-Identifier: Apache-2.0
#include "lib/sketch/pinsketch/decoder.h"

#include <algorithm>

namespace rocksieve::pinsketch {

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
