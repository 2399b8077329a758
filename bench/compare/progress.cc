#include "compare/progress.h"

#include <unistd.h>

#include <cstdio>

namespace rocksieve::bench {

Progress::Progress() : terminal_(isatty(STDERR_FILENO) == 1) {}

void Progress::Say(const std::string& step) {
  if (!terminal_) return;
  std::fprintf(stderr, "\r\033[Kcompare: %s", step.c_str());
  std::fflush(stderr);
  drawn_ = true;
}

void Progress::Clear() {
  if (drawn_) std::fputs("\r\033[K", stderr);
  drawn_ = false;
}

}  // namespace rocksieve::bench
