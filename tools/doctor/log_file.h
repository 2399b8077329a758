// SPDX-License-Identifier: Apache-2.0
// What RocksDB's info log tells: with which options a database was opened, what the plugin
// complained about, and the statistics that are dumped from time to time.
//
// Only those who open a database for writing have a log (SanitizeOptions(), RocksDB 7.8); each has
// a new one, and the one before is renamed to LOG.old.TIME.
#pragma once

#include <cstdint>
#include <istream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <rocksdb/status.h>

namespace rocksieve::tools {

// In the plugin's report of a policy that nobody refused.
inline constexpr const char* kWrongPolicyTaken = "a wrong filter_policy was taken";

// Options of a column family that its OPTIONS file does not have, or had differently then.
struct LoggedFamily {
  std::string filter_policy;       // its Name(): the spec if it is ours, without bits if RocksDB's
  uint64_t line = 0;               // where that stands
  std::string block_cache;         // an address: equal ones are one cache
  uint64_t block_cache_bytes = 0;  // 0 if not known
  int block_cache_shard_bits = 0;
  double high_pri_pool_ratio = 0.5;  // of the block cache
};

struct LoggedLine {
  uint64_t line = 0;
  std::string text;
};

struct LogFile {
  std::string name;  // "LOG"
  std::string rocksdb_version;
  std::map<std::string, LoggedFamily> families;
  std::vector<LoggedLine> plugin_reports;     // of trouble: the first ones, without date
  std::map<std::string, LoggedLine> follows;  // by column family: how rocksieve.auto knows its tree
  std::map<std::string, uint64_t> tickers;    // of the last dump: "rocksdb.block.cache.hit"
  uint64_t tickers_line = 0;                  // where that begins

  bool opened() const { return !families.empty(); }  // else the opening failed early
  uint64_t ticker(const std::string& ticker_name) const;
};

LogFile ParseLog(std::istream& text);

// Names of the files in the directory that are the prefix and a number; the largest number, which
// is the newest, first.
std::vector<std::string> NumberedFiles(const std::string& directory, std::string_view prefix);

// The logs in the directory, newest first. Reads the newest one that got as far as opening the
// database to its end, of some older ones the beginnings. Files that cannot be read are left out.
std::vector<LogFile> ReadLogs(const std::string& directory);

}  // namespace rocksieve::tools
