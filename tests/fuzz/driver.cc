// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target without libFuzzer, so that any compiler's build has it among its tests:
//
//   fuzz_TARGET [--seconds=N] [--seed=N] [--corpus=FILE] FILE|DIRECTORY...
//
// First all files, in the order of their names; then, until the time is over, mutations of them,
// which follow from the seed and their number alone. Each input is copied into a heap block of just
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
#include <utility>
#include <vector>

#include "tests/fuzz/target.h"

#if defined(__SANITIZE_ADDRESS__)
#define ROCKSIEVE_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ROCKSIEVE_ADDRESS_SANITIZER 1
#endif
#endif
#ifdef ROCKSIEVE_ADDRESS_SANITIZER
#include <sanitizer/common_interface_defs.h>
#endif

#ifdef ROCKSIEVE_ADDRESS_SANITIZER
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

Bytes ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "fuzz: cannot read %s\n", path.c_str());
    std::exit(2);
  }
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

class Mutator {
 public:
  explicit Mutator(const std::vector<Bytes>& corpus) : corpus_(corpus) {}

  // The same for the same seed.
  Bytes Make(uint64_t seed) {
    random_.seed(seed);
    Bytes bytes = corpus_[Below(corpus_.size())];
    const size_t steps = 1 + Below(kMostSteps);
    for (size_t i = 0; i < steps; i++) Change(&bytes);
    if (bytes.size() > kMostMutatedBytes) bytes.resize(kMostMutatedBytes);
    return bytes;
  }

 private:
  size_t Below(size_t count) { return static_cast<size_t>(random_() % count); }

  void Change(Bytes* bytes) {
    if (bytes->empty()) {
      bytes->push_back(static_cast<uint8_t>(random_()));
      return;
    }
    const size_t at = Below(bytes->size());
    const auto place = bytes->begin() + static_cast<ptrdiff_t>(at);
    switch (Below(7)) {
      case 0:
        *place ^= static_cast<uint8_t>(1u << Below(8));
        break;
      case 1:
        *place = static_cast<uint8_t>(random_());
        break;
      case 2:
        PutNumber(at, bytes);
        break;
      case 3:
        bytes->insert(place, 1 + Below(4), static_cast<uint8_t>(random_()));
        break;
      case 4:
        bytes->erase(place, place + static_cast<ptrdiff_t>(
                                        1 + Below(std::min<size_t>(16, bytes->size() - at))));
        break;
      case 5:
        Splice(at, bytes);
        break;
      default:
        if (Below(4) == 0) bytes->resize(at);
    }
  }

  // A number at an edge, in 1 to 8 bytes.
  void PutNumber(size_t at, Bytes* bytes) {
    static constexpr uint64_t kEdges[] = {0,          1,          0x7F,       0x80,
                                          0xFF,       0x7FFF,     0x8000,     0xFFFF,
                                          0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, ~uint64_t{0}};
    const uint64_t number = kEdges[Below(std::size(kEdges))];
    const size_t width = std::min<size_t>(size_t{1} << Below(4), bytes->size() - at);
    for (size_t i = 0; i < width; i++) (*bytes)[at + i] = static_cast<uint8_t>(number >> 8 * i);
  }

  // A part of an input of the corpus, over what stands there or between.
  void Splice(size_t at, Bytes* bytes) {
    const Bytes& other = corpus_[Below(corpus_.size())];
    if (other.empty()) return;
    const size_t from = Below(other.size());
    const size_t count = 1 + Below(std::min<size_t>(other.size() - from, 64));
    const auto begin = other.begin() + static_cast<ptrdiff_t>(from);
    const auto end = begin + static_cast<ptrdiff_t>(count);
    if (Below(2) == 0) {
      bytes->insert(bytes->begin() + static_cast<ptrdiff_t>(at), begin, end);
    } else {
      const auto over = static_cast<ptrdiff_t>(std::min(count, bytes->size() - at));
      std::copy(begin, begin + over, bytes->begin() + static_cast<ptrdiff_t>(at));
    }
  }

  const std::vector<Bytes>& corpus_;
  std::mt19937_64 random_;
};

int HexDigit(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

// "NAME HEX" in each line: what corpus.py writes.
std::vector<Bytes> ReadCorpus(const fs::path& path) {
  std::vector<Bytes> inputs;
  std::ifstream lines(path);
  for (std::string line; std::getline(lines, line);) {
    const std::string digits = line.substr(line.find(' ') + 1);
    Bytes& bytes = inputs.emplace_back();
    for (size_t i = 0; i + 1 < digits.size(); i += 2) {
      bytes.push_back(static_cast<uint8_t>(16 * HexDigit(digits[i]) + HexDigit(digits[i + 1])));
    }
  }
  return inputs;
}

std::vector<Bytes> ReadAll(const std::vector<fs::path>& places) {
  std::vector<fs::path> paths;
  for (const fs::path& place : places) {
    if (!fs::is_directory(place)) {
      paths.push_back(place);
      continue;
    }
    for (const auto& entry : fs::directory_iterator(place)) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Bytes> corpus;
  for (const fs::path& path : paths) corpus.push_back(ReadFile(path));
  return corpus;
}

}  // namespace

int main(int argc, char** argv) {
  double seconds = 0;
  uint64_t seed = 1;
  std::vector<fs::path> places;
  std::vector<Bytes> corpus;
  for (int i = 1; i < argc; i++) {
    const std::string argument = argv[i];
    if (argument.rfind("--seconds=", 0) == 0) {
      seconds = std::atof(argument.c_str() + 10);
    } else if (argument.rfind("--seed=", 0) == 0) {
      seed = std::strtoull(argument.c_str() + 7, nullptr, 10);
    } else if (argument.rfind("--corpus=", 0) == 0) {
      corpus = ReadCorpus(argument.substr(9));
    } else if (argument.rfind("-", 0) == 0) {
      std::fprintf(stderr, "Usage: %s [--seconds=N] [--seed=N] [--corpus=FILE] FILE|DIRECTORY...\n",
                   argv[0]);
      return 2;
    } else {
      places.emplace_back(argument);
    }
  }
  program = argv[0];
  crash_path = fs::absolute("crash-" + fs::path(argv[0]).filename().string()).string();
  for (Bytes& bytes : ReadAll(places)) corpus.push_back(std::move(bytes));
  if (corpus.empty()) {
    std::fprintf(stderr, "fuzz: no inputs were named\n");
    return 2;
  }
  WatchForFindings();
  const auto begin = std::chrono::steady_clock::now();
  for (const Bytes& bytes : corpus) Run(bytes);
  Mutator mutator(corpus);
  uint64_t mutations = 0;
  const auto elapsed = [&begin] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  for (; elapsed() < seconds; mutations++) Run(mutator.Make(seed + mutations));
  std::printf("%zu inputs and %llu mutations of them (seed %llu) in %.1f s\n", corpus.size(),
              static_cast<unsigned long long>(mutations), static_cast<unsigned long long>(seed),
              elapsed());
  return 0;
}
