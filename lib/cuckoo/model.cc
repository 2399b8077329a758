#include "lib/cuckoo/model.h"

#include <cmath>

namespace rocksieve::cuckoo {
namespace {

double RateOfWidth(int bits, double load) {
  return 1 - std::pow(1 - load * FingerprintMatchRate(bits), 4);
}

}  // namespace

double FingerprintMatchRate(int bits) {
  const double values = std::ldexp(1.0, bits);
  return (values + 2) / (values * values);  // 1 with 2 / values, each other one with 1 / values
}

double FalsePositiveRate(int fingerprint_bits, double wide_share, double load) {
  return (1 - wide_share) * RateOfWidth(fingerprint_bits, load) +
         wide_share * RateOfWidth(fingerprint_bits + 1, load);
}

}  // namespace rocksieve::cuckoo
