#include "plugin/auto/announcement.h"

#include <cstdlib>
#include <utility>

namespace rocksieve {
namespace {

thread_local Announcement last;

}  // namespace

void Announce(Announcement announcement) { last = std::move(announcement); }

Announcement TakeAnnouncement() { return std::exchange(last, Announcement()); }

uint64_t FileNumberOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return std::strtoull(path.c_str() + (slash == std::string::npos ? 0 : slash + 1), nullptr, 10);
}

}  // namespace rocksieve
