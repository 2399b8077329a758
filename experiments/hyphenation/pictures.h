// The plots of the hyphenation experiment.
#pragma once

#include <string>
#include <vector>

#include "experiments/frame/experiment.h"
#include "experiments/hyphenation/measure.h"

namespace rocksieve::experiments {

// Their names: PREFIX, then hyphenation_ and what is shown.
std::vector<Picture> HyphenationPictures(const HyphenationResults& results,
                                         const std::string& prefix);

}  // namespace rocksieve::experiments
