#include "tools/command/library_path.h"

#include <dlfcn.h>

#include <filesystem>
#include <system_error>

#include <rocksieve/filter_policy.h>

namespace rocksieve::tools {

std::string PluginLibraryPath() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&NewFilterPolicy), &info) == 0) return "librocksieve.so";
  std::error_code error;
  const auto path = std::filesystem::canonical(info.dli_fname, error);
  return error ? info.dli_fname : path.string();
}

}  // namespace rocksieve::tools
