// SPDX-License-Identifier: Apache-2.0
// Which rows of two databases differ, in keys or values; and whether they go on differing.
//
//   Input mine;
//   rocksdb::Status status = Input::OfDirectory("/data/db", "", InputOptions(), &mine);
//   Peer replica;
//   replica.addresses = {"replica.example:7420"};
//   replica.credentials = {"ca.pem", "client.pem", "client.key"};
//   DiffReport report;
//   if (status.ok()) {
//     status = Diff(mine, replica, DiffOptions(),
//                   [](const DifferentRow& row) { ...; return rocksdb::Status::OK(); }, &report);
//   }
//
// Stands on a join of keys, after which the values of matched keys are compared: exact, as that is,
// in keys and in 64 bits of XXH3 of the values, in bytes for what differs only. Two inputs of one
// machine are read side by side instead, and compared byte by byte.
//
// Statuses: as those of Join().
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rocksdb/status.h>
#include <rocksieve/join/export.h>
#include <rocksieve/join/input.h>
#include <rocksieve/join/join.h>
#include <rocksieve/join/peer.h>

namespace rocksieve::join {

enum class Difference : uint8_t { kLocalOnly, kRemoteOnly, kChanged };

enum class Verdict : uint8_t {
  kMatch,      // equal
  kDifferent,  // they differed when they were compared, and were not looked at again
  kTransient,  // they differed, and then did not, or in another way: they are being written
  kDiverged,   // they differed, in the same way, for as long as they were looked at
};

// The views are valid until the callback returns.
struct DifferentRow {
  Difference difference = Difference::kChanged;
  Verdict verdict = Verdict::kDifferent;  // never kMatch
  std::string_view key;
  // As they were when they were first compared, as ReadValue() reads them. Nothing of the side that
  // lacks the row; nor of the other side, if values were not asked for.
  std::optional<std::string_view> local_value, remote_value;
  // XXH3-64 of the values, wide columns among them; of a side that lacks the row, 0.
  uint64_t local_hash = 0, remote_hash = 0;
};

// Gets rows in the order of their keys, once it is proven that they differ and, if they are looked
// at again, after that; from the thread that called Diff(). A status that is not OK ends it.
using DifferenceCallback = std::function<rocksdb::Status(const DifferentRow& row)>;

// How far a comparison is: all rows with keys before next_key are compared. Counts are of these.
struct DiffProgress {
  std::string next_key;
  uint64_t equal_rows = 0;
  uint64_t local_only_rows = 0, remote_only_rows = 0, changed_rows = 0;
  uint64_t bytes_sent = 0, bytes_received = 0;  // of messages about them
};

struct DiffOptions {
  // `begin` and `end` bound the keys; `strategy` and others as for a join.
  JoinOptions join;
  // Values of the other side's rows are wanted. Else they do not travel.
  bool values = true;
  // Rows that differ are looked at again for so long, a few times: both sides as they are then.
  // Longer than one side may lag behind the other. 0: never. Inputs with a snapshot of the caller's
  // stay what they are.
  std::chrono::milliseconds recheck{0};
  // That are looked at again; some 100 bytes and the key are kept for each. Rows beyond them keep
  // kDifferent.
  size_t most_rechecked = size_t{1} << 20;
  // Two directories of this machine may have table files in common: hard links, as checkpoints of
  // one database have them. What differs is then in the others, and these alone are read, unless
  // they are most of it; or unless this is set, or the keys are bounded. Rows are compared exactly
  // either way. Damage in a file that both have is found by reading it only.
  bool read_shared_files = false;
  // With a server: where this side keeps the state of its database, on its file system; the server
  // keeps its own (ServedDatabase::states_directory). The next comparison with the same directory
  // is then of rows that have changed since, and of those that differed, on whichever side: the
  // answer is that of a comparison of all, in time for what has changed. Of all, if a state is
  // gone, or shares too little with the present one; if too many rows differed (a million); or if
  // that was so long ago. Needs an input of a directory, without bounds. Empty: nothing is kept.
  std::string state_directory;
  std::chrono::hours full_every{30 * 24};

  // For going on where a comparison ended before it was done, by another one, which begins at that
  // key (JoinOptions::begin) and sees both sides as they are then. Each may be empty.
  //
  // Told after each range that is proven, when the rows in it that differ were given, or were given
  // to `found` if they will be looked at again. Now and then, in a comparison of two inputs of this
  // machine, which then reads files that both have. From the thread that called Diff(); a status
  // that is not OK ends it. Not with a state directory.
  std::function<rocksdb::Status(const DiffProgress& progress)> proven;
  // Gets rows that will be looked at again, before they are.
  DifferenceCallback found;
  // Calls `take` with the rows that earlier comparisons found so, in the order of their keys, all
  // before `begin`: they are looked at again, counted and given with the others.
  std::function<rocksdb::Status(const DifferenceCallback& take)> found_before;
};

// Table files that are the same files on both sides (device and inode), and were not read.
struct SharedTableFiles {
  uint64_t files = 0, bytes = 0;
};

struct DiffReport {
  uint64_t equal_rows = 0;  // that were compared: without those of shared files
  SharedTableFiles shared;
  // With a state directory: whether rows that did not change since were left out, also of
  // `equal_rows`; else why not; and when all was compared, in seconds since 1970. What changed on
  // this side: by the journal (listener.h), or by files that are new.
  bool only_changes = false, by_journal = false;
  std::string why_full;
  uint64_t full_at_seconds = 0;
  uint64_t local_only_rows = 0, remote_only_rows = 0, changed_rows = 0;  // at first
  uint64_t transient_rows = 0, diverged_rows = 0;  // of these; the rest were not looked at again
  uint64_t looks = 0;                              // after the first one
  // kDiverged if any row is; else kDifferent if any is; else kTransient if any is.
  Verdict verdict = Verdict::kMatch;
  // Of the first look: JoinReport::servers has the column families that the peer serves. Of two
  // inputs of one machine: counts, ranges and seconds.
  JoinReport join;
  // Of messages in the later ones.
  uint64_t recheck_bytes_sent = 0, recheck_bytes_received = 0;
};

// `local`: of whole keys (InputOptions::on is empty). `peer`: one address, and no `on`. `on_row`
// may be empty, `report` null. Blocks. Memory and thread safety: as Join().
ROCKSIEVE_EXPORT rocksdb::Status Diff(const Input& local, const Peer& peer,
                                      const DiffOptions& options, const DifferenceCallback& on_row,
                                      DiffReport* report);

// The same of two inputs of this machine; the second one takes the part of the other side.
ROCKSIEVE_EXPORT rocksdb::Status Diff(const Input& local, const Input& remote,
                                      const DiffOptions& options, const DifferenceCallback& on_row,
                                      DiffReport* report);

// "match", "different", "transient", "diverged".
ROCKSIEVE_EXPORT std::string VerdictName(Verdict verdict);

// kText: "< KEY" (here only), "> KEY" (there only), "| KEY" (changed). kTsv: column family,
// "local-only", "remote-only" or "changed", verdict, key, and both values, with TABs between. In
// both, backslash, TAB, line feed, carriage return and zero byte are \\ \t \n \r \0, and of wide
// columns the value is NAME=VALUE, with commas between: for people. kJson: an object with the same,
// exact: bytes that are not UTF-8 are base64, in members whose names end with _base64; of wide
// columns, "local_columns" and "remote_columns" are lists of objects with name and value.
enum class DiffFormat : uint8_t { kText, kTsv, kJson };

// A line, with its end.
ROCKSIEVE_EXPORT std::string FormatDifference(const DifferentRow& row, DiffFormat format,
                                              std::string_view column_family);

// What a value of a different row is made of: a plain value, or columns by their names in order
// (rocksdb/wide_columns.h). A row whose only column is the default one counts as a plain value.
// InvalidArgument if it is no value of a DifferentRow. The views are into `value`.
struct ReadableValue {
  bool has_columns = false;
  std::string_view plain;
  std::vector<std::pair<std::string_view, std::string_view>> columns;
};
ROCKSIEVE_EXPORT rocksdb::Status ReadValue(std::string_view value, ReadableValue* readable);

}  // namespace rocksieve::join
