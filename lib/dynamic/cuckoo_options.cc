#include "lib/dynamic/cuckoo_options.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace rocksieve {
namespace {

// What ForKeys() chooses at least. Narrower ones do not reach the load in large filters, and their
// rate of a third and more is of no use.
constexpr int kLeastPlannedBits = 5;

// In small filters chance makes keys crowd in some buckets. With so many slots more than the load
// asks for, no number of keys from 1 to 2,000 failed to fit in more than 5 of 100,000 filters with
// 5 bits, and 1.5 with 12; with 16 slots it was three times as many.
constexpr double kSpareSlots = 24;

[[noreturn]] void Refuse(const std::string& what) {
  throw std::invalid_argument("CuckooFilterOptions::ForKeys: " + what);
}

}  // namespace

std::string WhatIsWrong(const CuckooFilterOptions& options) {
  if (options.buckets < 1 || options.buckets > CuckooFilterOptions::kMostBuckets) {
    return "CuckooFilter: buckets is " + std::to_string(options.buckets) +
           "; give 1 to 2^32, or let ForKeys() choose";
  }
  if (options.fingerprint_bits < CuckooFilterOptions::kLeastFingerprintBits ||
      options.fingerprint_bits > CuckooFilterOptions::kMostFingerprintBits) {
    return "CuckooFilter: fingerprint_bits is " + std::to_string(options.fingerprint_bits) +
           "; give 2 to 32, or let ForKeys() choose";
  }
  return "";
}

double CuckooFalsePositiveRate(int fingerprint_bits, double load) {
  const double match = 1 / (std::ldexp(1.0, fingerprint_bits) - 1);
  return -std::expm1(2 * CuckooFilterOptions::kBucketSlots * load * std::log1p(-match));
}

CuckooFilterOptions CuckooFilterOptions::ForKeys(uint64_t keys, double false_positive_rate) {
  if (keys == 0) Refuse("keys is 0; give the number of keys to be held, at least 1");
  if (!(false_positive_rate > 0 && false_positive_rate < 1)) {
    Refuse("false_positive_rate is " + std::to_string(false_positive_rate) +
           "; give a share between 0 and 1, such as 0.01");
  }
  const double keys_wanted = static_cast<double>(keys);
  const double buckets = std::ceil((keys_wanted / kLoad + kSpareSlots) / kBucketSlots);
  if (buckets > static_cast<double>(kMostBuckets)) {
    Refuse("keys is " + std::to_string(keys) +
           "; give at most 16 billion, or divide them among several filters");
  }
  CuckooFilterOptions options;
  options.buckets = static_cast<uint64_t>(buckets);
  const double load = keys_wanted / (buckets * kBucketSlots);
  options.fingerprint_bits = kLeastPlannedBits;
  while (CuckooFalsePositiveRate(options.fingerprint_bits, load) > false_positive_rate) {
    if (++options.fingerprint_bits > kMostFingerprintBits) {
      Refuse(
          "false_positive_rate is too small for fingerprints of 32 bits; give at least "
          "0.000000002");
    }
  }
  return options;
}

}  // namespace rocksieve
