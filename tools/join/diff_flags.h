// SPDX-License-Identifier: Apache-2.0
// The flags of `rocksieve diff`.
#pragma once

#include <string>
#include <vector>

#include <rocksdb/status.h>
#include <rocksieve/join/diff.h>

#include "tools/command/command.h"
#include "tools/join/database_diff.h"
#include "tools/join/security_flags.h"

namespace rocksieve::tools {

struct DiffFlags {
  std::vector<std::string> directories;
  std::vector<std::string> remotes;
  join::Peer peer;  // without an address
  std::vector<join::Peer> peers;
  SecurityFlags security;
  DatabaseDiffOptions options;
  bool summary = false;
  std::string format = "text";
  std::string output_path = "-";
  double recheck_seconds = 0;
  double full_every_days = 30;
  int seconds = 24 * 3600;
  int memory_mib = 1024;
  std::string apply;  // "here" or nothing
  bool dry_run = false;
  std::string undo_log;  // of apply
  std::string undo;      // such a log, instead of a comparison
  std::string resume;    // the file of the state
  bool progress = false;
  bool json = false;

  bool applies() const { return !apply.empty() && !dry_run; }
};

void AddDiffFlags(CLI::App* parser, DiffFlags* flags);

// Makes the options and peers of what was given. InvalidArgument, with the remedy, for flags that
// do not go together.
rocksdb::Status CompleteDiff(DiffFlags* flags);

join::DiffFormat FormatOf(const DiffFlags& flags);

}  // namespace rocksieve::tools
