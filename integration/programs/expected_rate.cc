// Prints the false-positive rate that the library promises: expected_rate SPEC KEYS
#include <cstdio>
#include <cstdlib>
#include <string>

#include <rocksieve/filter.h>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  rocksieve::FilterSpec spec;
  const std::string error = rocksieve::FilterSpec::Parse(argv[1], &spec);
  if (!error.empty()) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return 1;
  }
  std::printf("%.9f\n",
              rocksieve::ExpectedFalsePositiveRate(spec, std::strtoull(argv[2], nullptr, 10)));
}
