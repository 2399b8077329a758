// SPDX-License-Identifier: Apache-2.0
#include "lib/sketch/pinsketch/algebra.h"

#include <array>
#include <mutex>
#include <new>

#include "lib/cpu/isa.h"

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

void TakeGcd(const Field& field, Polynomial* a, Polynomial* b) {
  Trim(a);
  Trim(b);
  while (!b->empty()) {
    MakeMonic(field, b);
    Reduce(field, *b, a);
    a->swap(*b);
  }
  if (!a->empty()) MakeMonic(field, a);
}

FrobeniusFunction ActiveFrobenius() {
#if defined(__x86_64__)
  static const bool usable = ActiveIsa() == Isa::kAvx512 && CpuHasVpclmulqdq();
  if (usable) return FrobeniusByAvx512;
#endif
  return nullptr;
}

}  // namespace rocksieve::pinsketch
