// SPDX-License-Identifier: Apache-2.0
// The journal of a database: what flushes and ingestion have written, and what compactions made of
// it. Written by the process that owns the database (change_journal.h), read by comparisons
// (plugin/unshared/written_files.cc).
//
//   DATABASE/rocksieve.journal/
//     NAME.sst                 hard link of a file that a flush has written
//     NAME.SEQUENCE.sst        of one that was ingested, all of whose entries have the number
//     jobs, jobs.old           compactions, a line for each, the older ones in jobs.old
//     SESSION.OPTIONS-000012   hard link of the database's options at a compaction
//
//   NAME: FAMILY-SESSION-NUMBER, where FAMILY is XXH3-64 of the column family's name
//   line: XXH3-64 of what follows the blank | blank | options file | " in" | for each input: blank,
//         NAME | " out" | for each output: blank, NAME
//
// XXH3-64 is in 16 hexadecimal digits. SESSION and NUMBER are of the file's own table properties
// (rocksdb.creating.session.identity, rocksdb.original.file.number): a column family has no two
// files with the same ones, unless it was ingested twice. Nothing has to be complete: a file whose
// origin is not in the journal, or is twice, is of unknown origin.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rocksieve {

inline constexpr const char* kJournalDirectory = "rocksieve.journal";
inline constexpr const char* kJournalJobs = "jobs";
inline constexpr const char* kOldJournalJobs = "jobs.old";
inline constexpr uint64_t kMostJournalJobsBytes = uint64_t{4} << 20;  // of each of the two

struct JournalJob {
  std::string options_file;
  std::vector<std::string> inputs, outputs;  // names
};

// A table file's. Empty if it does not say, or says what cannot be in a file's name.
std::string JournalNameOf(std::string_view column_family, const std::string& session,
                          uint64_t number);
// With which the names of all files of a column family begin.
std::string JournalPrefixOf(std::string_view column_family);

// With a newline.
std::string JournalLineOf(const JournalJob& job);
// False if it is damaged. Without the newline.
bool ParseJournalLine(std::string_view line, JournalJob* job);

}  // namespace rocksieve
