#include "lib/transport/view_registry.h"

#include <algorithm>
#include <random>
#include <utility>

namespace rocksieve::join {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kWaitForBroken(5);  // a session that was told to end

std::string RandomName() {
  std::random_device random;  // of the operating system: not to be guessed
  std::string name;
  while (name.size() < 16) name.push_back(static_cast<char>(random()));
  return name;
}

}  // namespace

struct ViewRegistry::Entry {
  View view;
  ViewRequest request;
  std::string name;
  Cancellation* holder = nullptr;  // null if nobody reads it
  Clock::time_point expires;       // if nobody does
};

ViewRegistry::ViewRegistry(OpenView open, const Options& options)
    : open_(std::move(open)), options_(options) {
  reaper_ = std::thread([this] { DropExpired(); });
}

ViewRegistry::~ViewRegistry() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  reaper_.join();
}

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
      entry->holder->Cancel(absl::AbortedError("the asking side has come again"));
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

ViewRegistry::Lease::~Lease() { registry_->Release(entry_, !finished_); }
Source* ViewRegistry::Lease::source() const { return entry_->view.source.get(); }
const std::string& ViewRegistry::Lease::database() const { return entry_->view.database; }
const std::string& ViewRegistry::Lease::name() const { return entry_->name; }

void ViewRegistry::Release(std::list<Entry>::iterator released, bool keep) {
  std::list<Entry> dropped;  // closed without the lock: that may take its time
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    released->holder = nullptr;
    released->expires = Clock::now() + options_.keep;
    if (keep) {
      // The kept ones stand in the order in which they expire.
      entries_.splice(entries_.end(), entries_, released);
    } else {
      dropped.splice(dropped.end(), entries_, released);
    }
    auto kept = static_cast<size_t>(std::count_if(
        entries_.begin(), entries_.end(), [](const Entry& e) { return e.holder == nullptr; }));
    for (auto entry = entries_.begin(); kept > options_.most_kept && entry != entries_.end();) {
      const auto next = std::next(entry);
      if (entry->holder == nullptr) {
        dropped.splice(dropped.end(), entries_, entry);
        kept--;
      }
      entry = next;
    }
  }
  changed_.notify_all();
}

void ViewRegistry::DropExpired() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!ending_) {
    std::list<Entry> dropped;
    Clock::time_point next = Clock::now() + std::chrono::hours(1);
    for (auto entry = entries_.begin(); entry != entries_.end();) {
      const auto after = std::next(entry);
      if (entry->holder == nullptr) {
        if (entry->expires <= Clock::now()) {
          dropped.splice(dropped.end(), entries_, entry);
        } else {
          next = std::min(next, entry->expires);
        }
      }
      entry = after;
    }
    if (dropped.empty()) {
      changed_.wait_until(lock, next);
    } else {
      lock.unlock();
      dropped.clear();
      lock.lock();
    }
  }
}

}  // namespace rocksieve::join
