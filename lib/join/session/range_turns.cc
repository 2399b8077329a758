// SPDX-License-Identifier: Apache-2.0
#include "lib/join/session/range_turns.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "support/return_if_error.h"

namespace rocksieve::join {

Workers::Workers(size_t threads) {
  try {
    while (threads_.size() < threads) {
      threads_.emplace_back([this](const std::stop_token& end) { Run(end); });
    }
  } catch (const std::system_error&) {  // those that there are do it
  }
}

Workers::~Workers() = default;

void Workers::Add(std::function<void()> work) {
  if (threads_.empty()) return work();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    work_.push_back(std::move(work));
  }
  added_.notify_one();
}

void Workers::Run(const std::stop_token& end) {
  std::unique_lock<std::mutex> lock(mutex_);
  while (added_.wait(lock, end, [this] { return !work_.empty(); })) {
    const std::function<void()> work = std::move(work_.front());
    work_.pop_front();
    lock.unlock();
    work();
    lock.lock();
  }
}

RangeTurns::~RangeTurns() {
  std::unique_lock<std::mutex> lock(mutex_);
  ready_ = nullptr;
  ended_.wait(lock, [this] {
    return std::all_of(turns_.begin(), turns_.end(), [](const Turn& turn) { return turn.is_done; });
  });
}

void RangeTurns::WhenReady(std::function<void()> ready) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ready_ = std::move(ready);
}

absl::Status RangeTurns::Begin(uint64_t range, Reconciliation* reconciliation,
                               std::optional<std::string> heard) {
  MemoryHold memory(memory_);
  RETURN_IF_ERROR(memory.Resize(heard ? heard->capacity() : 0, "a step of a range"));
  Turn* const turn = &turns_.emplace_back(range, memory_);
  turn->reconciliation = reconciliation;
  turn->heard = std::move(heard);
  turn->memory = std::move(memory);
  if (workers_ == nullptr) {
    Compute(turn);
    turn->is_done = true;
    return absl::OkStatus();
  }
  try {
    workers_->Add([this, turn] {
      Compute(turn);
      End(turn);
    });
  } catch (...) {
    turns_.pop_back();
    throw;
  }
  return absl::OkStatus();
}

void RangeTurns::Compute(Turn* turn) noexcept {
  using State = Reconciliation::State;
  Reconciliation& reconciliation = *turn->reconciliation;
  absl::Status& status = turn->done.status;
  try {
    if (turn->heard) status = reconciliation.Receive(*turn->heard);
    while (status.ok() && reconciliation.state() == State::kMyTurn) {
      std::string step;
      status = reconciliation.NextStep(&step);
      // Nothing is to be said any more of what was given up.
      if (!status.ok() || reconciliation.state() == State::kContradicted) break;
      turn->done.steps.push_back(std::move(step));
    }
  } catch (...) {
    turn->thrown = std::current_exception();
  }
  turn->heard.reset();
}

// With the lock until the end: as soon as a turn is done, this may be destroyed.
void RangeTurns::End(Turn* turn) {
  const std::lock_guard<std::mutex> lock(mutex_);
  turn->is_done = true;
  if (ready_) ready_();
  ended_.notify_all();
}

RangeTurns::Done RangeTurns::TakeAt(Turns::iterator turn) {
  const std::exception_ptr thrown = turn->thrown;
  Done done = std::move(turn->done);
  turns_.erase(turn);
  if (thrown) std::rethrow_exception(thrown);
  return done;
}

std::optional<RangeTurns::Done> RangeTurns::Take() {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto done =
      std::find_if(turns_.begin(), turns_.end(), [](const Turn& turn) { return turn.is_done; });
  if (done == turns_.end()) return std::nullopt;
  return TakeAt(done);
}

std::optional<RangeTurns::Done> RangeTurns::WaitFor(uint64_t range) {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto found = std::find_if(turns_.begin(), turns_.end(),
                                  [range](const Turn& turn) { return turn.done.range == range; });
  if (found == turns_.end()) return std::nullopt;
  ended_.wait(lock, [&found] { return found->is_done; });
  return TakeAt(found);
}

}  // namespace rocksieve::join
