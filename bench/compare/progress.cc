#include "compare/progress.h"

#include <unistd.h>

#include <cstdio>
#include <utility>

namespace rocksieve::bench {

Progress::Progress(std::string program)
    : program_(std::move(program)), terminal_(isatty(STDERR_FILENO) == 1) {}

void Progress::Say(const std::string& step) {
  if (!terminal_) return;
  std::fprintf(stderr, "\r\033[K%s: %s", program_.c_str(), step.c_str());
  std::fflush(stderr);
  drawn_ = true;
}

void Progress::Clear() {
  if (drawn_) std::fputs("\r\033[K", stderr);
  drawn_ = false;
}

}  // namespace rocksieve::bench
