// The false-positive rate of the ribbon family as a function.
//
// The slots that a missing key selects give a value that has nothing to do with its fingerprint, so
// each column agrees with probability 1/2: the rate is 2^-F exactly, whatever the number of keys
// (Dillinger, Huebschle-Schneider, Sanders, Walzer 2022, section 2). Where a share of the keys is
// asked one column more, it is the mean of the two rates.
#pragma once

namespace rocksieve::ribbon {

// REQUIRES: 0 <= wide_share <= 1.
double FalsePositiveRate(int columns, double wide_share);

// Columns per slot on average at which the rate is `rate`. REQUIRES: 0 < rate <= 1.
double WidthForRate(double rate);

}  // namespace rocksieve::ribbon
