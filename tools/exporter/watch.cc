// SPDX-License-Identifier: Apache-2.0
#include "tools/exporter/watch.h"

#include <cctype>
#include <iostream>
#include <map>
#include <sstream>
#include <utility>

namespace rocksieve::tools {
namespace {

constexpr char kCommand[] = "rocksieve exporter";

// Names in databases, such as those of column families, begin no line of their own, and do nothing
// to a terminal.
std::string InOneLine(const std::string& text) {
  std::string line;
  for (const char c : text) line += std::iscntrl(static_cast<unsigned char>(c)) != 0 ? ' ' : c;
  return line;
}

// In one piece, so that lines of other threads do not get into it.
void Say(const std::string& directory, const std::string& text) {
  const std::string line = std::string(kCommand) + ": " + directory + ": " + text;
  std::cerr << InOneLine(line) + "\n" << std::flush;
}

using Reported = std::map<std::string, std::string>;  // what may come and go: how it is told

Reported ToReport(const Look& look) {
  Reported reported;
  for (const Finding& finding : look.findings) {
    const std::string where =
        finding.column_family.empty() ? "" : " (column family " + finding.column_family + ")";
    reported[std::string(NameOf(finding.severity)) + " " + finding.id + where] =
        finding.title + ". " + finding.remedy;
  }
  return reported;
}

// A database that is down is told each time: what its findings are is not known then.
void Tell(const std::string& directory, const Look* before, const Look& now) {
  if (!now.error.empty()) {
    Say(directory, "down: " + now.error);
    return;
  }
  if (before != nullptr && !before->error.empty()) Say(directory, "up again");
  const Reported old = before == nullptr ? Reported() : ToReport(*before), found = ToReport(now);
  for (const auto& [what, text] : found) {
    if (old.count(what) == 0) Say(directory, what + ": " + text);
  }
  for (const auto& [what, text] : old) {
    if (found.count(what) == 0) Say(directory, "no longer: " + what);
  }
}

}  // namespace

Watch::Watch(const std::vector<std::string>& directories,
             std::chrono::duration<double> between_looks)
    : between_looks_(between_looks), progress_(kCommand) {
  for (const std::string& directory : directories) {
    databases_.emplace_back().directory = directory;
  }
}

void Watch::LookAtAll() {
  for (size_t i = 0; i < databases_.size() && InterruptSignal() == 0; i++) LookAtOne(i);
}

void Watch::LookAtOne(size_t number) {
  std::string directory;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    databases_[number].looking = true;
    directory = databases_[number].directory;
  }
  Look look = LookAt(directory, &progress_);
  progress_.Clear();
  WatchedDatabase& database = databases_[number];
  // Before the lock, for the log may be a pipe that is full; only this thread changes what was
  // last.
  if (!look.interrupted) Tell(directory, database.last ? &*database.last : nullptr, look);
  const std::lock_guard<std::mutex> lock(mutex_);
  database.looking = false;
  if (look.interrupted) return;
  database.looks++;
  database.failed_looks += look.error.empty() ? 0 : 1;
  database.look_seconds += look.seconds;
  database.read_bytes += static_cast<double>(look.read_bytes);
  database.last = std::move(look);
}

void Watch::Start() {
  thread_ = std::thread([this] { Run(); });
}

void Watch::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  do {
    lock.unlock();
    LookAtAll();
    lock.lock();
  } while (!stop_.wait_for(lock, between_looks_, [this] { return stopped_; }));
}

void Watch::Stop() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopped_ = true;
  }
  stop_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::vector<Metric> Watch::Metrics() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return MetricsOf(databases_, between_looks_.count());
}

}  // namespace rocksieve::tools
