#include "bench/compare/build_kind.h"

namespace rocksieve::bench {

std::string WhyNotToMeasure() {
  const std::string remedy = "; configure with -DCMAKE_BUILD_TYPE=Release and no sanitizer";
#if defined(ROCKSIEVE_SANITIZED) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return "built with a sanitizer" + remedy;
#elif !defined(__OPTIMIZE__)
  return "built without optimisation" + remedy;
#elif !defined(NDEBUG)
  return "built with assertions" + remedy;
#else
  return "";
#endif
}

}  // namespace rocksieve::bench
