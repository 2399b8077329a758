// What may stand before the exact table of exceptions: filters and tables behind one interface.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace rocksieve::experiments {

class MemberSet {
 public:
  virtual ~MemberSet() = default;
  virtual bool MayContain(std::string_view word) const = 0;
  virtual size_t MemoryBytes() const = 0;
  // The false-positive rate that its formula promises; 0 for an exact table.
  virtual double ExpectedRate() const = 0;
};

struct Contender {
  std::string name;
  bool exact = false;  // then it knows no rate
  // Throws std::runtime_error if not all words find a place.
  std::function<std::unique_ptr<MemberSet>(const std::vector<std::string>& words, double rate)>
      make;
};

std::vector<Contender> Contenders();

}  // namespace rocksieve::experiments
