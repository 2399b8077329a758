#include "lib/join/session/asking_tasks.h"

#include <algorithm>
#include <iterator>

#include <absl/strings/str_cat.h>

namespace rocksieve::join {

absl::StatusOr<AskingTask*> AskingTasks::Find(uint64_t range) {
  for (AskingTask& task : tasks_) {
    if (task.range == range) return &task;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the answering side speaks of range ", range, ", which is not open"));
}

absl::StatusOr<AskingTask*> AskingTasks::AddNext(std::optional<std::string> end) {
  KeyInterval interval{rest_->begin, std::move(end)};
  if (interval.end == rest_->end) {
    rest_.reset();
  } else {
    rest_->begin = *interval.end;
  }
  const uint64_t range = next_range_;
  next_range_ += 2;
  return Add(tasks_.end(), range, std::move(interval));
}

void AskingTasks::GiveBack(AskingTask* task, const std::string& next_key) {
  rest_ = KeyInterval{next_key, end_};
  task->interval.end = next_key;
}

absl::Status AskingTasks::CutShort(AskingTask* task, const std::string& next_key) {
  const auto found = std::find_if(tasks_.begin(), tasks_.end(),
                                  [task](const AskingTask& other) { return &other == task; });
  const auto added =
      Add(std::next(found), next_cut_range_, KeyInterval{next_key, task->interval.end});
  next_cut_range_ += 2;
  task->interval.end = next_key;
  return added.status();
}

std::optional<KeyInterval> AskingTasks::Unfinished() const {
  if (tasks_.empty()) return rest_;
  return KeyInterval{tasks_.front().interval.begin, end_};
}

absl::StatusOr<AskingTask*> AskingTasks::Add(List::iterator before, uint64_t range,
                                             KeyInterval interval) {
  // In the task, its reader, its result and its report.
  constexpr uint64_t kCopies = 4;
  const uint64_t bytes = interval.begin.size() + (interval.end ? interval.end->size() : 0);
  const auto task = tasks_.emplace(before, range, std::move(interval), account_);
  ++*created_;
  const absl::Status room =
      task->memory.Resize(sizeof(AskingTask) + kCopies * bytes, "fences of ranges");
  if (!room.ok()) return room;
  return &*task;
}

}  // namespace rocksieve::join
