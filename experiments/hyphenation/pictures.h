// The plots of the hyphenation experiment.
#pragma once

#include <vector>

#include "frame/experiment.h"
#include "hyphenation/measure.h"

namespace rocksieve::experiments {

std::vector<Picture> HyphenationPictures(const HyphenationResults& results);

}  // namespace rocksieve::experiments
