// SPDX-License-Identifier: Apache-2.0
// What an estimator answers: a number and how far it is likely to be off.
#pragma once

namespace rocksieve {

// The truth lies within one standard error of the value in about two cases of three, within three
// in nearly all. A standard error of 0 means that the value is exact.
struct Estimate {
  double value = 0;
  double standard_error = 0;
};

// Two sets, each by itself and together.
struct OverlapEstimate {
  Estimate a, b;
  Estimate either;   // in their union
  Estimate both;     // in their intersection
  Estimate jaccard;  // both / either, 0 .. 1; 0 for two empty sets
};

}  // namespace rocksieve
