#include "sketch/pinsketch/roots.h"

#include <algorithm>

namespace rocksieve::pinsketch {

bool RootFinder::Find(const Polynomial& p, std::vector<uint32_t>* roots) {
  roots->clear();
  degree_ = p.size() - 1;
  if (degree_ == 1) {
    roots->push_back(p[0]);
    return true;
  }
  if (!MakeFrobeniusPowers(p)) return false;
  traces_.resize(static_cast<size_t>(field_.bits()));
  for (Polynomial& trace : traces_) trace.clear();
  Split(p, 0, roots);
  return roots->size() == degree_;
}

// Fills powers_; true if x^(2^bits) = x.
bool RootFinder::MakeFrobeniusPowers(const Polynomial& p) {
  const size_t d = degree_, bits = static_cast<size_t>(field_.bits());
  // x^(d + i) = x * x^(d + i - 1): shift, and replace x^d. Only even powers appear in squares.
  reduction_.assign(d * d, 0);
  row_.assign(p.begin(), p.end() - 1);
  for (size_t i = 0; i < d; i++) {
    if (i > 0) {
      const uint32_t top = row_[d - 1];
      for (size_t j = d - 1; j > 0; j--) row_[j] = row_[j - 1];
      row_[0] = 0;
      if (top != 0) {
        const uint32_t log_top = field_.Log(top);
        for (size_t j = 0; j < d; j++) row_[j] ^= field_.MultiplyByExp(p[j], log_top);
      }
    }
    std::copy(row_.begin(), row_.end(), reduction_.begin() + static_cast<std::ptrdiff_t>(i * d));
  }
  powers_.assign(bits * d, 0);
  row_.assign(d, 0);
  row_[1] = 1;
  for (size_t i = 0; i < bits; i++) {
    std::copy(row_.begin(), row_.end(), powers_.begin() + static_cast<std::ptrdiff_t>(i * d));
    square_.assign(d, 0);
    for (size_t j = 0; j < d; j++) {
      if (row_[j] == 0) continue;
      const uint32_t squared = field_.Square(row_[j]);
      if (2 * j < d) {
        square_[2 * j] ^= squared;
        continue;
      }
      const uint32_t log_squared = field_.Log(squared);
      const uint32_t* const reduced = &reduction_[(2 * j - d) * d];
      for (size_t l = 0; l < d; l++) square_[l] ^= field_.MultiplyByExp(reduced[l], log_squared);
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
    const uint32_t* const power = &powers_[i * degree_];
    for (size_t j = 0; j < degree_; j++) trace[j] ^= field_.MultiplyByExp(power[j], log_b);
    log_b = field_.ReduceLog(uint64_t{log_b} * 2);
  }
  return trace;
}

void RootFinder::Split(const Polynomial& p, int basis_element, std::vector<uint32_t>* roots) {
  if (p.size() == 2) {
    roots->push_back(p[0]);
    return;
  }
  for (; basis_element < field_.bits(); basis_element++) {
    Polynomial trace = TraceOf(basis_element);
    Reduce(field_, p, &trace);
    if (trace.size() <= 1) continue;  // constant: all roots on one side
    Polynomial copy = p;
    const Polynomial part = TakeGcd(field_, std::move(copy), std::move(trace));
    if (part.size() <= 1 || part.size() == p.size()) continue;
    Polynomial rest = p;
    DivideBy(field_, part, &rest);
    Split(part, basis_element + 1, roots);
    Split(rest, basis_element + 1, roots);
    return;
  }
}

}  // namespace rocksieve::pinsketch
