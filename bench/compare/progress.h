// One line on stderr that says what is being measured; nothing if stderr is not a terminal.
#pragma once

#include <string>

namespace rocksieve::bench {

class Progress {
 public:
  // The line begins with the name of the program.
  explicit Progress(std::string program);
  ~Progress() { Clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Say(const std::string& step);
  void Clear();

 private:
  const std::string program_;
  const bool terminal_;
  bool drawn_ = false;
};

}  // namespace rocksieve::bench
