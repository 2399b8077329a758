// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>

#include "plugin/exporter/outlet.h"
#include "plugin/exporter/quiet_threads.h"

namespace rocksieve {
namespace {

constexpr std::chrono::seconds kPeriod(15);

}  // namespace

std::string MetricsExporter::FileOutlet::Start(const std::string& path,
                                               std::shared_ptr<Collector> collector) {
  target = path;
  collector_ = std::move(collector);
  const std::string error = Write();
  if (!error.empty()) {
    return "cannot write " + path + ": " + error +
           "; name a file in a directory that is there and that the program may write to";
  }
  const QuietThreads quiet;
  try {
    thread_ = std::thread([this] { Run(); });
  } catch (const std::exception& exception) {
    return "cannot start a thread that writes " + path + ": " + exception.what();
  }
  return "";
}

MetricsExporter::FileOutlet::~FileOutlet() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopped_ = true;
  }
  stop_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void MetricsExporter::FileOutlet::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stop_.wait_for(lock, kPeriod, [this] { return stopped_; })) {
    lock.unlock();
    Write();
    lock.lock();
  }
}

// Beside it, under a name that node_exporter passes by, and then in its place.
std::string MetricsExporter::FileOutlet::Write() const {
  const std::string text = collector_->Text();
  const std::string unfinished = target + "." + std::to_string(getpid()) + ".tmp";
  std::remove(unfinished.c_str());  // of a process that was killed
  // Never through a link that somebody else has put there.
  std::FILE* const file = std::fopen(unfinished.c_str(), "wxe");
  if (file == nullptr) return std::strerror(errno);
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  int error = written ? 0 : errno;
  if (std::fclose(file) != 0 && error == 0) error = errno;
  if (error == 0 && std::rename(unfinished.c_str(), target.c_str()) != 0) error = errno;
  if (error == 0) return "";
  std::remove(unfinished.c_str());
  return std::strerror(error);
}

}  // namespace rocksieve
