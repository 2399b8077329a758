// SPDX-License-Identifier: Apache-2.0
#include "lib/sketch/pinsketch/algebra.h"

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

namespace rocksieve::pinsketch {
namespace {

// Primitive polynomials of the degrees 6 .. 20, bit i for x^i. Source: R. Lidl, H. Niederreiter,
// "Introduction to finite fields", table of primitive polynomials; the test checks them.
constexpr uint32_t kPrimitive[] = {0x43,    0x89,    0x11d,   0x211,   0x409,
                                   0x805,   0x1053,  0x201b,  0x4443,  0x8003,
                                   0x1100b, 0x20009, 0x40081, 0x80027, 0x100009};

constexpr int kFields = Field::kMostBits - Field::kLeastBits + 1;

}  // namespace

Field::Field(int bits)
    : bits_(bits),
      order_((uint32_t{1} << bits) - 1),
      exp_(Zeros(4 * size_t{order_} + 1)),
      log_(Zeros(size_t{order_} + 1)) {
  const uint32_t polynomial = kPrimitive[bits - kLeastBits];
  log_[0] = 2 * order_;
  uint32_t power = 1;
  for (uint32_t i = 0; i < order_; i++) {
    exp_[i] = exp_[i + order_] = power;
    log_[power] = i;
    power <<= 1;
    if (power > order_) power ^= polynomial;
  }
}

Field::Table Field::Zeros(size_t count) {
  // Of a large block, the system clears what is touched, and nothing else.
  Table table(static_cast<uint32_t*>(std::calloc(count, sizeof(uint32_t))));
  if (table == nullptr) throw std::bad_alloc();
  return table;
}

const Field& Field::OfBits(int bits) {
  static std::array<std::once_flag, kFields> made;
  static std::array<const Field*, kFields> fields;
  const size_t index = static_cast<size_t>(bits - kLeastBits);
  std::call_once(made[index], [&] { fields[index] = new Field(bits); });
  return *fields[index];
}

void Trim(Polynomial* p) {
  while (!p->empty() && p->back() == 0) p->pop_back();
}

void MakeMonic(const Field& field, Polynomial* p) {
  if (p->back() == 1) return;
  const uint32_t log_inverse = field.ReduceLog(field.order() - field.Log(p->back()));
  for (uint32_t& coefficient : *p) coefficient = field.MultiplyByExp(coefficient, log_inverse);
}

void Reduce(const Field& field, const Polynomial& m, Polynomial* a) {
  const size_t degree = m.size() - 1;
  Trim(a);
  while (a->size() > degree) {
    const uint32_t log_lead = field.Log(a->back());
    uint32_t* const low = a->data() + (a->size() - 1 - degree);
    for (size_t i = 0; i < degree; i++) low[i] ^= field.MultiplyByExp(m[i], log_lead);
    a->pop_back();
    Trim(a);
  }
}

void DivideBy(const Field& field, const Polynomial& m, Polynomial* a) {
  const size_t degree = m.size() - 1;
  for (size_t top = a->size(); top-- > degree;) {
    const uint32_t lead = (*a)[top];  // stays there: a coefficient of the quotient
    if (lead == 0) continue;
    const uint32_t log_lead = field.Log(lead);
    uint32_t* const low = a->data() + (top - degree);
    for (size_t i = 0; i < degree; i++) low[i] ^= field.MultiplyByExp(m[i], log_lead);
  }
  a->erase(a->begin(), a->begin() + static_cast<std::ptrdiff_t>(degree));
}

Polynomial TakeGcd(const Field& field, Polynomial&& a, Polynomial&& b) {
  Trim(&a);
  Trim(&b);
  while (!b.empty()) {
    MakeMonic(field, &b);
    Reduce(field, b, &a);
    std::swap(a, b);
  }
  if (!a.empty()) MakeMonic(field, &a);
  return std::move(a);
}

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

// Fills log_powers_; true if x^(2^bits) = x.
bool RootFinder::MakeFrobeniusPowers(const Polynomial& p) {
  const size_t d = degree_, bits = static_cast<size_t>(field_.bits());
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

bool Decoder::Decode(std::span<const uint32_t> sums, std::vector<uint32_t>* ids) {
  ids->clear();
  if (std::all_of(sums.begin(), sums.end(), [](uint32_t sum) { return sum == 0; })) return true;
  const int length = ShortestRegister(sums);
  const size_t degree = static_cast<size_t>(length);
  // The locator, the product of (1 - id x), has the inverse ids as roots; reversed, the ids. Its
  // degree must be the length: then the roots, being distinct, explain all the sums.
  if (length < 1 || degree > sums.size() || locator_[degree] == 0) return false;
  reversed_.resize(degree + 1);
  for (size_t i = 0; i <= degree; i++) reversed_[degree - i] = locator_[i];
  if (!roots_.Find(reversed_, ids)) return false;
  std::sort(ids->begin(), ids->end());
  return true;
}

// Fills locator_ and returns the register's length, or -1 once that exceeds the number of sums.
int Decoder::ShortestRegister(std::span<const uint32_t> sums) {
  const size_t t = sums.size();
  log_sums_.resize(2 * t + 1);
  for (size_t j = 0; j < t; j++) log_sums_[2 * j + 1] = field_.Log(sums[j]);
  for (size_t power = 2; power <= 2 * t; power += 2) {
    const uint32_t log_root = log_sums_[power / 2];
    const bool is_zero = log_root == field_.Log(0);
    log_sums_[power] = is_zero ? log_root : field_.ReduceOnce(2 * log_root);
  }
  locator_.assign(t + 2, 0);
  previous_.assign(t + 2, 0);
  locator_[0] = previous_[0] = 1;
  size_t length = 0, shift = 1;
  uint32_t previous_discrepancy = 1;
  for (size_t n = 0; n < 2 * t; n += 2, shift += 2) {
    uint32_t discrepancy = sums[n / 2];
    for (size_t i = 1; i <= length; i++) {
      discrepancy ^= field_.MultiplyByExp(locator_[i], log_sums_[n + 1 - i]);
    }
    if (discrepancy == 0) continue;
    const uint32_t log_factor = field_.ReduceLog(uint64_t{field_.Log(discrepancy)} +
                                                 field_.order() - field_.Log(previous_discrepancy));
    const bool grows = 2 * length <= n;
    if (grows) saved_ = locator_;
    for (size_t i = 0; i + shift <= t; i++) {
      locator_[i + shift] ^= field_.MultiplyByExp(previous_[i], log_factor);
    }
    if (!grows) continue;
    length = n + 1 - length;
    if (length > t) return -1;
    previous_.swap(saved_);
    previous_discrepancy = discrepancy;
    shift = 0;  // 2 at the next step, for the one that is left out counts
  }
  return static_cast<int>(length);
}

}  // namespace rocksieve::pinsketch
