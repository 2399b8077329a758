#include "plugin/auto/file_context.h"

#include <cstdlib>
#include <utility>

namespace rocksieve {
namespace {

thread_local FileContext last;

}  // namespace

void SetFileContext(FileContext file_context) { last = std::move(file_context); }

FileContext TakeFileContext() { return std::exchange(last, FileContext()); }

uint64_t FileNumberOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return std::strtoull(path.c_str() + (slash == std::string::npos ? 0 : slash + 1), nullptr, 10);
}

}  // namespace rocksieve
