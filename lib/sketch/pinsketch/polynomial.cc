#include "lib/sketch/pinsketch/polynomial.h"

#include <utility>

namespace rocksieve::pinsketch {

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

uint32_t Evaluate(const Field& field, const Polynomial& p, uint32_t x) {
  uint32_t value = 0;
  for (size_t i = p.size(); i-- > 0;) value = field.Multiply(value, x) ^ p[i];
  return value;
}

}  // namespace rocksieve::pinsketch
