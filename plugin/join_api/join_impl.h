// SPDX-License-Identifier: Apache-2.0
// What the public classes are inside: how the rows of an Input are opened, by what they are joined
// on and as one moment has them; and what all joins that programs ask for go through.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <rocksieve/join/input.h>
#include <rocksieve/join/join.h>
#include <rocksieve/join/peer.h>

#include "lib/join/join_key/join_key_expression.h"
#include "lib/join/rows/source.h"
#include "lib/join/sort/row_sorter.h"
#include "lib/transport/cancellation.h"
#include "lib/transport/client.h"
#include "lib/transport/credentials.h"
#include "plugin/database/read_only_snapshot.h"

namespace rocksieve::join {

// At most, of times that callers choose: so that "for ever" does not run over.
inline constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24 * 365 * 10);

// What is joined on, with the caller's extractors.
absl::StatusOr<JoinKeyExpression> JoinKeyExpressionOf(const std::string& on,
                                                      const Extractors& extractors);

// Whether rows in the order of their keys, bytewise, are in that of their join keys.
bool KeepsOrder(const JoinKeyExpression& expression);

// Whether a side that joins on this sends whole rows in the values of others, unless they are
// joined on all of the row. The text may name an extractor that only the other side has.
bool IsExpression(const std::string& on);

// Rows of a column family, by their join keys.
absl::StatusOr<std::shared_ptr<Source>> OpenDatabase(
    rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family, const rocksdb::ReadOptions& read,
    const KeyInterval& interval, const JoinKeyExpression& expression, const SortOptions& sort,
    const Cancellation* cancellation);

// Opens the rows of one state, which it holds: the sources need it as long as they live.
using OpenRows =
    std::function<absl::StatusOr<std::shared_ptr<Source>>(const Cancellation* cancellation)>;

// One state of a column family's rows.
struct RowsSnapshot {
  OpenRows open;
  // Of a directory, its files; else null.
  std::shared_ptr<const ReadOnlySnapshot> files = {};
  // Of those that are opened by SnapshotOfDirectory(), or served.
  std::string database = {};  // identity, for messages
  ColumnFamilyDescription family = {};
  std::string kept = {};  // the name under which it is kept, if it is
};

using RateLimiterPtr = std::shared_ptr<rocksdb::RateLimiter>;

// A column family of a database that another process may have open.
struct DirectoryOfRows {
  std::string directory;
  std::string column_family;  // empty: the default one
  RateLimiterPtr rate_limiter;

  const std::string& family() const {
    return column_family.empty() ? rocksdb::kDefaultColumnFamilyName : column_family;
  }
};

// What of its states is kept.
struct KeepingStates {
  const KeptStates* states = nullptr;  // null: nothing, and the rest is not set
  bool keep = false;                   // the present one
  // Empty: rows of the present state. Else what may have changed since that one, by whole rows
  // (FindChangedRows()).
  std::string since = {};
};

absl::StatusOr<RowsSnapshot> SnapshotOfDirectory(const DirectoryOfRows& rows,
                                                 const JoinKeyExpression& expression,
                                                 const SortOptions& sort,
                                                 const KeepingStates& keeping = {});

// Rows of a state of a directory, by their join keys.
OpenRows RowsOf(std::shared_ptr<const ReadOnlySnapshot> state, const JoinKeyExpression& expression,
                const SortOptions& sort, const RateLimiterPtr& rate_limiter);

// Sources of the same state of the same rows, each for a thread of its own.
struct OpenedInput {
  RowsSnapshot rows;  // what they stand on
  std::vector<std::shared_ptr<Source>> sources;
};

// Hidden: inside of a class that is exported, it would be, too.
class __attribute__((visibility("hidden"))) Input::Impl {
 public:
  // Takes the state of this moment, of rows to be joined on the expression.
  using TakeSnapshot =
      std::function<absl::StatusOr<RowsSnapshot>(const JoinKeyExpression& expression)>;

  // `directory`: of a directory's rows.
  Impl(TakeSnapshot take_snapshot, JoinKeyExpression expression,
       std::optional<DirectoryOfRows> directory = {})
      : take_snapshot_(std::move(take_snapshot)),
        expression_(std::move(expression)),
        directory_(std::move(directory)) {}

  absl::StatusOr<OpenedInput> OpenSources(size_t count, const Cancellation* cancellation) const;
  const std::string& on() const { return expression_.text(); }
  bool on_expression() const { return !expression_.is_whole_key(); }
  // The same rows, joined on another expression.
  Impl On(JoinKeyExpression expression) const {
    return {take_snapshot_, std::move(expression), directory_};
  }
  const std::optional<DirectoryOfRows>& directory() const { return directory_; }

 private:
  const TakeSnapshot take_snapshot_;
  const JoinKeyExpression expression_;
  const std::optional<DirectoryOfRows> directory_;
};

struct JoinedParts {
  std::vector<KeyInterval> intervals;  // as ClientSessionOptions has them
  bool describe = false;               // ServerReport::column_families is wanted
  Comparison comparison = Comparison::kNone;
  // The server keeps the state of its database, and says under which name; null: it need not.
  std::string* kept = nullptr;
  // Empty: of rows of the server's state. Else of those that may have changed since that one.
  std::string since = {};
};

// `work` gets the servers, and as many sources of the same state as it asks for.
using JoinWork = absl::FunctionRef<absl::Status(
    const std::vector<Remote>& remotes, const OpenedInput& opened, Cancellation* cancellation)>;
// Calls it, until the time is over or the join is cancelled.
absl::Status WithSources(const Input& input, const Peer& peer, const JoinOptions& options,
                         bool each_server, JoinWork work);
RemoteJoinOptions RemoteOptions(Operation operation, const Peer& peer, const JoinOptions& options);

// Rows come as the sources have them: see UnpackingResultSink. `report` may be null.
absl::Status JoinTo(Operation operation, const Input& input, const Peer& peer,
                    const JoinOptions& options, const JoinedParts& parts, ResultSink* rows,
                    JoinReport* report);

// Calls `work` with what ends when the time of the options is over or the join is cancelled.
absl::Status UntilCancelled(const JoinOptions& options,
                            absl::FunctionRef<absl::Status(Cancellation* cancellation)> work);

Security SecurityOf(const Credentials& credentials);

}  // namespace rocksieve::join
