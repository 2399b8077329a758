#include "lib/transport/exchange.h"

#include <algorithm>
#include <utility>

namespace rocksieve::join {
namespace {

// For telling a side that is silent that it is given up.
constexpr std::chrono::milliseconds kLastWord(200);

// What a piece takes in a queue: short ones take more than their bytes.
size_t MemoryBytes(const std::string& piece) { return sizeof(piece) + piece.size(); }

// Of a message of protobuf with one field of bytes.
uint64_t WireBytes(const std::string& piece) {
  uint64_t bytes = 2 + piece.size();
  for (size_t length = piece.size(); length >= 0x80; length >>= 7) bytes++;
  return bytes;
}

}  // namespace

Exchange::Exchange(FrameChannel* channel, const Cancellation* cancellation, const Limits& limits)
    : channel_(channel), cancellation_(cancellation), limits_(limits) {
  try {
    reader_ = std::thread([this] { Run(&Exchange::ReadAll, &read_ended_); });
    writer_ = std::thread([this] { Run(&Exchange::WriteAll, &write_ended_); });
  } catch (...) {  // of threads there are no more
    GiveUp();
    if (reader_.joinable()) reader_.join();
    throw;
  }
}

// What throws in a thread of a stream, for want of memory, ends the stream and nothing else.
void Exchange::Run(void (Exchange::*work)(), bool* ended) {
  try {
    (this->*work)();
  } catch (...) {
    channel_->Cancel();
    const std::lock_guard<std::mutex> lock(mutex_);
    write_failed_ = *ended = true;
    changed_.notify_all();
  }
}

Exchange::~Exchange() {
  GiveUp();
  if (reader_.joinable()) reader_.join();
  if (writer_.joinable()) writer_.join();
}

void Exchange::GiveUp() {
  bool cancel = false;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    cancel = !read_ended_ || !write_ended_;
    given_up_ = true;
  }
  if (cancel) channel_->Cancel();
  changed_.notify_all();
}

void Exchange::ReadAll() {
  std::string piece;
  while (channel_->Read(&piece)) {
    std::unique_lock<std::mutex> lock(mutex_);
    read_progress_ = Clock::now();
    counts_.frames_received++;
    counts_.bytes_received += WireBytes(piece);
    arrived_bytes_ += MemoryBytes(piece);
    arrived_.push_back(std::move(piece));
    piece.clear();
    changed_.notify_all();
    changed_.wait(lock, [this] {
      return given_up_ || closing_ || arrived_bytes_ < limits_.most_arrived_bytes;
    });
    if (given_up_) break;
    if (closing_) {  // nobody will look at it
      arrived_.clear();
      arrived_bytes_ = 0;
    }
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  read_ended_ = true;
  changed_.notify_all();
}

void Exchange::WriteAll() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return given_up_ || closing_ || !pending_.empty(); });
    if (given_up_ || pending_.empty()) break;
    const std::string piece = std::move(pending_.front());
    pending_.pop_front();
    lock.unlock();
    const bool written = channel_->Write(piece);
    lock.lock();
    pending_bytes_ -= piece.size();
    if (!written) {
      write_failed_ = true;
      break;
    }
    write_progress_ = Clock::now();
    counts_.frames_sent++;
    counts_.bytes_sent += WireBytes(piece);
    changed_.notify_all();
  }
  const bool close = closing_ && !given_up_ && !write_failed_;
  lock.unlock();
  if (close) channel_->CloseWriting();
  lock.lock();
  write_ended_ = true;
  changed_.notify_all();
}

bool Exchange::TakeArrived(std::string* piece) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (arrived_.empty()) return false;
  *piece = std::move(arrived_.front());
  arrived_.pop_front();
  arrived_bytes_ -= MemoryBytes(*piece);
  changed_.notify_all();
  return true;
}

bool Exchange::HasRoom() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return pending_bytes_ < limits_.most_pending_bytes;
}

void Exchange::Send(std::string piece) {
  const std::lock_guard<std::mutex> lock(mutex_);
  pending_bytes_ += piece.size();
  pending_.push_back(std::move(piece));
  changed_.notify_all();
}

void Exchange::WaitForChange(std::unique_lock<std::mutex>* lock, Clock::time_point until) {
  join::WaitForChange(&changed_, lock, std::min(until, cancellation_->deadline()),
                      cancellation_->token());
}

Exchange::Event Exchange::Wait(bool for_arrival, bool for_room) {
  std::unique_lock<std::mutex> lock(mutex_);
  const Clock::time_point begin = Clock::now();
  for (;;) {
    if (!cancellation_->Check().ok()) return Event::kCancelled;
    if (for_arrival && !arrived_.empty()) return Event::kArrived;
    if ((read_ended_ && (for_arrival || arrived_.empty())) || write_failed_) return Event::kEnded;
    if (for_room && pending_bytes_ < limits_.most_pending_bytes) return Event::kRoom;
    // What this side does before it waits is no silence of the other one.
    const Clock::time_point heard = std::max({begin, read_progress_, write_progress_});
    if (Clock::now() - heard >= limits_.silence) {
      was_silent_ = true;
      return Event::kSilence;
    }
    WaitForChange(&lock, heard + limits_.silence);
  }
}

bool Exchange::Finish() {
  std::unique_lock<std::mutex> lock(mutex_);
  closing_ = true;
  changed_.notify_all();
  const Clock::time_point begin = Clock::now();
  while (!read_ended_ || !write_ended_) {
    // What still arrives is no reason to stay: it might be endless.
    const auto limit = was_silent_    ? std::min(kLastWord, limits_.farewell)
                       : write_ended_ ? limits_.farewell
                                      : limits_.silence;
    if (!cancellation_->Check().ok()) break;
    const Clock::time_point until = std::max(begin, write_progress_) + limit;
    if (Clock::now() >= until) break;
    WaitForChange(&lock, until);
  }
  const bool ended = read_ended_ && write_ended_ && !write_failed_;
  lock.unlock();
  if (!ended) GiveUp();
  reader_.join();
  writer_.join();
  return ended;
}

WireCounts Exchange::counts() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return counts_;
}

}  // namespace rocksieve::join
