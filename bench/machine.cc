// SPDX-License-Identifier: Apache-2.0
#include "bench/machine.h"

#include <dlfcn.h>
#include <rocksdb/version.h>
#include <rocksieve/filter_policy.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "lib/cpu/isa.h"
#include "support/table.h"

namespace rocksieve::bench {
namespace {

// Of the library that has this function.
template <typename Function>
std::string LibraryOf(Function* function) {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(function), &info) == 0) return "unknown";
  std::error_code error;
  const auto path = std::filesystem::canonical(info.dli_fname, error);
  return error ? info.dli_fname : path.string();
}

// Of the unified cache of this level, as the kernel sees it ("1024K"); 0 if it does not say.
size_t CacheBytes(int level) {
  std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(level) + "/size");
  size_t number = 0;
  char unit = 0;
  if (!(file >> number >> unit)) return 0;
  return unit == 'M' ? number << 20 : number << 10;
}

// As the kernel has it.
std::string ProcessorName() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.compare(0, 10, "model name") == 0) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

std::string Mebibytes(const nlohmann::json& bytes) {
  return Significant(bytes.get<double>() / (1 << 20), 2) + " MiB";
}

}  // namespace

nlohmann::json DescribeMachine() {
  double load = 0;
  if (getloadavg(&load, 1) != 1) load = -1;
  return {{"processor", ProcessorName()},
          {"cores", std::thread::hardware_concurrency()},
          {"l2_bytes", CacheBytes(2)},
          {"l3_bytes", CacheBytes(3)},
          {"load_average", load},
          {"rocksdb_version", rocksdb::GetRocksVersionAsString(/*with_patch=*/true)},
          {"rocksdb_library", LibraryOf(&rocksdb::GetRocksVersionAsString)},
          {"plugin_library", LibraryOf(&NewFilterPolicy)},
          {"isa", ActiveIsaName()}};
}

std::string ForPeople(const nlohmann::json& machine) {
  return "Processor:  " + machine["processor"].get<std::string>() + ", " +
         std::to_string(machine["cores"].get<int>()) + " cores, of which one is used; L2 " +
         Mebibytes(machine["l2_bytes"]) + ", L3 " + Mebibytes(machine["l3_bytes"]) +
         "\nLoad:       " + Significant(machine["load_average"].get<double>(), 2) +
         " processes over the last minute, this one not yet among them\nRocksDB:    " +
         machine["rocksdb_version"].get<std::string>() + ", " +
         machine["rocksdb_library"].get<std::string>() +
         "\nrocksieve:  " + machine["plugin_library"].get<std::string>() + ", kernels for " +
         machine["isa"].get<std::string>() + "\n";
}

std::string ActiveIsaName() { return std::string(IsaName(ActiveIsa())); }

size_t BytesLargerThanPrivateCaches() {
  constexpr size_t kLeast = size_t{8} << 20;
  return std::max(kLeast, 4 * CacheBytes(2));
}

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
