// Whether this program was built in a way whose times mean something.
#pragma once

#include <string>

namespace rocksieve::bench {

// Empty, or why nothing should be measured with this build, and what to do.
std::string WhyNotToMeasure();

}  // namespace rocksieve::bench
