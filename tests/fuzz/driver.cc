// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target without libFuzzer, so that any compiler's build has it among its tests:
//
//   fuzz_TARGET [--seconds=N] [--corpus=FILE] FILE...
//
// First all inputs, in their order; then, until the time is over, mutations of them, which follow
// from their number alone. Each input is copied into a heap block of just
// its size. What ends the program leaves the input in the file crash-fuzz_TARGET in the current
// directory, and says how to run it again.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/target.h"

#ifdef ROCKSIEVE_ADDRESS_SANITIZER
#include <sanitizer/common_interface_defs.h>

// One allocation of more than a gigabyte, or two gigabytes in all, is a number that was believed.
extern "C" const char* __asan_default_options() {
  return "max_allocation_size_mb=1024:hard_rss_limit_mb=2048:detect_leaks=1";
}
#endif

namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<uint8_t>;

constexpr int kSecondsPerInput = 20;  // of the processor: others may be busy with it
constexpr size_t kMostMutatedBytes = 64 << 10;
constexpr int kMostSteps = 8;

// For the handlers, which may call little.
const char* program = "";
std::string crash_path;
const uint8_t* input = nullptr;
size_t input_bytes = 0;

void Print(const char* text) {
  if (write(STDERR_FILENO, text, std::strlen(text)) < 0) return;
}

void SaveInput() {
  if (input == nullptr) return;
  const int file = open(crash_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  size_t written = 0;
  while (file >= 0 && written < input_bytes) {
    const ssize_t bytes = write(file, input + written, input_bytes - written);
    if (bytes <= 0) break;
    written += static_cast<size_t>(bytes);
  }
  if (file >= 0) close(file);
  Print("fuzz: an input ended the program; to run it again:\n  ");
  Print(program);
  Print(" ");
  Print(crash_path.c_str());
  Print("\n");
  input = nullptr;
}

void OnSignal(int number) {
  if (number == SIGPROF) Print("fuzz: an input took too long\n");
  SaveInput();
  signal(number, SIG_DFL);
  if (number == SIGPROF) number = SIGABRT;
  signal(number, SIG_DFL);
  raise(number);
}

void WatchForFindings() {
  signal(SIGPROF, OnSignal);
  signal(SIGABRT, OnSignal);
#ifdef ROCKSIEVE_ADDRESS_SANITIZER
  __sanitizer_set_death_callback(SaveInput);
#else
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) signal(number, OnSignal);
  constexpr rlim_t kMostBytes = rlim_t{4} << 30;
  const rlimit limit = {kMostBytes, kMostBytes};
  setrlimit(RLIMIT_AS, &limit);
#endif
}

// 0: none.
void LimitSeconds(int seconds) {
  itimerval limit = {};
  limit.it_value.tv_sec = seconds;
  setitimer(ITIMER_PROF, &limit, nullptr);
}

void Run(const Bytes& bytes) {
  // Exactly sized; a vector's capacity may be larger.
  const std::unique_ptr<uint8_t[]> exact(new uint8_t[bytes.size()]);
  std::copy(bytes.begin(), bytes.end(), exact.get());
  input = exact.get();
  input_bytes = bytes.size();
  LimitSeconds(kSecondsPerInput);
  LLVMFuzzerTestOneInput(exact.get(), bytes.size());
  LimitSeconds(0);
  input = nullptr;
}

// Some changes of an input; the same for the same number.
Bytes Mutation(const std::vector<Bytes>& corpus, uint64_t number) {
  static constexpr uint64_t kEdges[] = {0,      1,          0x7F,       0x80,       0xFF,
                                        0x7FFF, 0x8000,     0xFFFF,     0x7FFFFFFF, 0x80000000,
                                        0xFFFFFFFF, ~uint64_t{0}};
  std::mt19937_64 random(number);
  const auto below = [&random](size_t count) { return static_cast<size_t>(random() % count); };
  Bytes bytes = corpus[below(corpus.size())];
  for (size_t steps = 1 + below(kMostSteps); steps > 0; steps--) {
    if (bytes.empty()) bytes.push_back(static_cast<uint8_t>(random()));
    const size_t at = below(bytes.size()), rest = bytes.size() - at;
    const auto place = bytes.begin() + static_cast<ptrdiff_t>(at);
    const auto end_of = [place](size_t count) { return place + static_cast<ptrdiff_t>(count); };
    switch (below(7)) {
      case 0:
        *place ^= static_cast<uint8_t>(1u << below(8));
        break;
      case 1:
        *place = static_cast<uint8_t>(random());
        break;
      case 2: {
        const uint64_t edge = kEdges[below(std::size(kEdges))];
        const size_t width = std::min<size_t>(size_t{1} << below(4), rest);
        for (size_t i = 0; i < width; i++) place[i] = static_cast<uint8_t>(edge >> 8 * i);
        break;
      }
      case 3:
        bytes.insert(place, 1 + below(4), static_cast<uint8_t>(random()));
        break;
      case 4:
        bytes.erase(place, end_of(1 + below(std::min<size_t>(16, rest))));
        break;
      case 5: {  // a part of another, over what stands there or between
        const Bytes& other = corpus[below(corpus.size())];
        if (other.empty()) break;
        const size_t from = below(other.size());
        const auto part = other.begin() + static_cast<ptrdiff_t>(from);
        const size_t count = 1 + below(std::min<size_t>(other.size() - from, 64));
        if (below(2) == 0) {
          bytes.insert(place, part, part + static_cast<ptrdiff_t>(count));
        } else {
          std::copy_n(part, std::min(count, rest), place);
        }
        break;
      }
      default:
        if (below(4) == 0) bytes.resize(at);
    }
  }
  if (bytes.size() > kMostMutatedBytes) bytes.resize(kMostMutatedBytes);
  return bytes;
}

Bytes FromHex(std::string_view digits) {
  Bytes bytes;
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  for (size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes.push_back(static_cast<uint8_t>(16 * digit(digits[i]) + digit(digits[i + 1])));
  }
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  double seconds = 0;
  std::vector<Bytes> corpus;
  for (int i = 1; i < argc; i++) {
    const std::string argument = argv[i];
    if (argument.rfind("--seconds=", 0) == 0) {
      seconds = std::atof(argument.c_str() + 10);
    } else if (argument.rfind("--corpus=", 0) == 0) {
      std::ifstream lines(argument.substr(9));  // "NAME HEX" in each: what make_seeds.py writes
      for (std::string line; std::getline(lines, line);) {
        corpus.push_back(FromHex(std::string_view(line).substr(line.find(' ') + 1)));
      }
    } else if (std::ifstream file(argument, std::ios::binary); file) {
      corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    } else {
      std::fprintf(stderr, "Usage: %s [--seconds=N] [--corpus=FILE] FILE...\n", argv[0]);
      return 2;
    }
  }
  LLVMFuzzerInitialize(&argc, &argv);
  program = argv[0];
  crash_path = fs::absolute("crash-" + fs::path(argv[0]).filename().string()).string();
  if (corpus.empty()) {
    std::fprintf(stderr, "fuzz: no inputs were named\n");
    return 2;
  }
  WatchForFindings();
  const auto begin = std::chrono::steady_clock::now();
  for (const Bytes& bytes : corpus) Run(bytes);
  uint64_t mutations = 0;
  const auto elapsed = [&begin] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  while (elapsed() < seconds) Run(Mutation(corpus, ++mutations));
  std::printf("%zu inputs and %llu mutations of them in %.1f s\n", corpus.size(),
              static_cast<unsigned long long>(mutations), elapsed());
  return 0;
}
