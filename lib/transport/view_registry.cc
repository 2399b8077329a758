// SPDX-License-Identifier: Apache-2.0
#include "lib/transport/view_registry.h"

#include <algorithm>
#include <random>
#include <utility>

namespace rocksieve::join {
namespace {

constexpr std::chrono::seconds kWaitForBroken(5);  // a session that was told to end

std::string RandomName() {
  std::random_device random;  // of the operating system: not to be guessed
  std::string name;
  while (name.size() < 16) name.push_back(static_cast<char>(random()));
  return name;
}

}  // namespace

ViewRegistry::ViewRegistry(OpenView open, const Options& options)
    : open_(std::move(open)),
      options_(options),
      reaper_([this](const std::stop_token& end) { DropExpired(end); }) {}

absl::StatusOr<std::unique_ptr<ViewRegistry::Lease>> ViewRegistry::Acquire(
    const ViewRequest& request, const std::string& name, Cancellation* cancellation,
    ViewTerms terms) {
  const auto find = [&] {
    return std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
      return entry.name == name && entry.request == request;
    });
  };
  if (!name.empty()) {
    std::unique_lock<std::mutex> lock(mutex_);
    auto entry = find();
    if (entry != entries_.end() && entry->holder != nullptr) {
      entry->holder->Cancel(absl::AbortedError("the client has come again"));
      changed_.wait_for(lock, kWaitForBroken, [&] {
        entry = find();
        return entry == entries_.end() || entry->holder == nullptr;
      });
    }
    if (entry != entries_.end() && entry->holder == nullptr) {
      auto lease = std::make_unique<Lease>(this, entry, /*resumed=*/true);
      entry->holder = cancellation;
      return lease;
    }
  }
  terms.cancellation = cancellation;
  absl::StatusOr<View> view = open_(request, terms);
  if (!view.ok()) return view.status();
  std::list<Entry> opened;  // whatever throws, throws before the others see it
  opened.push_back({*std::move(view), request, RandomName(), cancellation, {}});
  auto lease = std::make_unique<Lease>(this, opened.begin(), /*resumed=*/false);
  const std::lock_guard<std::mutex> lock(mutex_);
  entries_.splice(entries_.end(), opened);
  return lease;
}

std::list<ViewRegistry::Entry>::iterator ViewRegistry::OldestKept() {
  return std::find_if(entries_.begin(), entries_.end(),
                      [](const Entry& entry) { return entry.holder == nullptr; });
}

void ViewRegistry::Release(std::list<Entry>::iterator released, bool keep) {
  std::list<Entry> dropped;  // closed without the lock: that may take its time
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    released->holder = nullptr;
    released->expires = Clock::now() + options_.keep;
    if (keep) {
      entries_.splice(entries_.end(), entries_, released);
    } else {
      dropped.splice(dropped.end(), entries_, released);
    }
    const auto kept = std::count_if(entries_.begin(), entries_.end(),
                                    [](const Entry& entry) { return entry.holder == nullptr; });
    if (static_cast<size_t>(kept) > options_.most_kept) {
      dropped.splice(dropped.end(), entries_, OldestKept());
    }
  }
  changed_.notify_all();
}

void ViewRegistry::DropExpired(const std::stop_token& end) {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!end.stop_requested()) {
    const auto oldest = OldestKept();
    if (oldest != entries_.end() && oldest->expires <= Clock::now()) {
      std::list<Entry> dropped;
      dropped.splice(dropped.end(), entries_, oldest);
      lock.unlock();
      dropped.clear();
      lock.lock();
      continue;
    }
    const Clock::time_point next =
        oldest == entries_.end() ? Clock::now() + std::chrono::hours(1) : oldest->expires;
    WaitForChange(&changed_, &lock, next, end);
  }
}

}  // namespace rocksieve::join
