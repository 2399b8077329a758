#include "tools/demo/timing.h"

#include <algorithm>
#include <chrono>
#include <string_view>

#include <rocksdb/perf_level.h>

#include "support/parallel.h"
#include "tools/demo/tree.h"

namespace rocksieve::tools {
namespace {

using rocksdb::Status;
using Clock = std::chrono::steady_clock;

constexpr size_t kMostLookups = 2000;  // per round, database and kind of key
constexpr size_t kFewestLookups = 16;
constexpr auto kLongestBatch = std::chrono::milliseconds(30);

double Microseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

// The lookups of one kind of key, in all databases.
class Stopwatch {
 public:
  Stopwatch(const std::vector<std::unique_ptr<rocksdb::DB>>& databases,
            const std::vector<std::string_view>& keys)
      : databases_(databases), keys_(keys), samples_(databases.size()) {}

  // Finds out how many lookups fit into kLongestBatch in the slowest database: it might have values
  // on a slow disk, or keys of a megabyte.
  Status WarmUp() {
    for (const auto& db : databases_) {
      const Clock::time_point start = Clock::now();
      size_t done = 0;
      while (done < lookups_ && (done < kFewestLookups || Clock::now() - start < kLongestBatch)) {
        const Status status = Look(db.get(), done, kFewestLookups);
        if (!status.ok()) return status;
        done += kFewestLookups;
      }
      lookups_ = std::min(lookups_, done);
    }
    return Status::OK();
  }

  Status Time(size_t database, int round) {
    const Clock::time_point start = Clock::now();
    const Status status =
        Look(databases_[database].get(), static_cast<size_t>(round) * lookups_, lookups_);
    samples_[database].push_back(Microseconds(Clock::now() - start) /
                                 static_cast<double>(lookups_));
    return status;
  }

  // REQUIRES: kTimingRounds calls of Time() for the database.
  LookupTime Result(size_t database) {
    std::vector<double>& samples = samples_[database];
    std::sort(samples.begin(), samples.end());
    return {samples[samples.size() / 2], samples.front(), samples.back()};
  }

 private:
  // With fewer keys than lookups, keys come again.
  Status Look(rocksdb::DB* db, size_t first, size_t count) {
    for (size_t i = 0; i < count; i++) {
      value_.Reset();
      const Status status =
          db->Get({}, db->DefaultColumnFamily(), keys_[(first + i) % keys_.size()], &value_);
      if (!status.ok() && !status.IsNotFound()) {
        return Explained(status, "look up a key in " + db->GetName());
      }
    }
    return Status::OK();
  }

  const std::vector<std::unique_ptr<rocksdb::DB>>& databases_;
  const std::vector<std::string_view>& keys_;
  std::vector<std::vector<double>> samples_;  // by database: microseconds per lookup
  size_t lookups_ = kMostLookups;             // per batch
  rocksdb::PinnableSlice value_;
};

}  // namespace

Status TimeLookups(const std::vector<std::unique_ptr<rocksdb::DB>>& databases, const Keys& keys,
                   Progress* progress, std::vector<LookupTimes>* times) {
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);
  progress->Begin("timing lookups", kTimingRounds * databases.size());
  Stopwatch missing(databases, keys.missing);
  Stopwatch present(databases, keys.present);
  const bool any_missing = !keys.missing.empty();
  Status status = present.WarmUp();
  if (status.ok() && any_missing) status = missing.WarmUp();

  for (size_t turn = 0; turn < kTimingRounds * databases.size() && status.ok(); turn++) {
    const size_t round = turn / databases.size();
    const size_t database = (turn + round) % databases.size();
    status = Advanced(progress);
    if (status.ok()) status = present.Time(database, static_cast<int>(round));
    if (status.ok() && any_missing) status = missing.Time(database, static_cast<int>(round));
  }
  if (!status.ok()) return status;

  times->clear();
  for (size_t i = 0; i < databases.size(); i++) {
    times->push_back({any_missing ? missing.Result(i) : LookupTime{}, present.Result(i)});
  }
  return status;
}

}  // namespace rocksieve::tools
