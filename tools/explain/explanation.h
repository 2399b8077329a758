// What `rocksieve explain` finds out, before it is put into words.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <rocksdb/status.h>

#include "plugin/database/tree.h"
#include "plugin/probe/block_reads.h"
#include "plugin/probe/probe_tree.h"
#include "support/progress.h"

namespace rocksieve::tools {

struct ExplainOptions {
  std::string directory;
  std::vector<std::string> column_families;  // all if empty
  std::string probes;                        // a file of missing keys; empty: made ones
  bool probes_are_hex = false;
  uint64_t probe_count = 200000;
};

// Of some files of a column family: those of a level, or all. Shares and rates are -1 where there
// is nothing to take them of.
struct Totals {
  uint64_t files = 0;
  uint64_t files_without_filter = 0;
  uint64_t entries = 0;
  uint64_t deletions = 0;
  uint64_t file_bytes = 0;
  uint64_t filter_bytes = 0;
  double files_met = 0;         // per lookup of a missing key
  double predicted_rate = -1;   // of the files with filters, as often as they are asked
  double measured_rate = -1;    // likewise; unlike passes / files_met if some have none
  uint64_t filter_lookups = 0;  // that measured_rate is of
  double predicted_passes = 0;  // per lookup of a missing key; files without filters count 1
  double measured_passes = 0;

  double BitsPerEntry() const;
  double ShareWithoutFilter() const;
};

// The filters of one family in a level.
struct FilterGroup {
  std::string family;
  uint64_t files = 0;
  uint64_t partitioned_files = 0;
  uint64_t bytes = 0;
  uint64_t entries = 0;
  FilterSetting smallest, largest;
};

struct LevelExplanation {
  int level = 0;
  Totals totals;
  std::vector<FilterGroup> filters;
};

struct FamilyExplanation {
  Tree tree;
  TreeProbes probes;
  BlockReads reads;
  Totals totals;
  std::vector<LevelExplanation> levels;

  // Data blocks that a lookup of a missing key reads in vain.
  bool reads_known = true;             // false if keys have an order that is unknown here
  bool reads_are_upper_bound = false;  // some filters are of an unknown policy, and count as none
  double expected_reads = 0;
  double expected_reads_low_95 = 0, expected_reads_high_95 = 0;
  double predicted_reads = 0;
  double reads_without_filters = 0;

  std::vector<std::string> notes;     // what the reader should know
  std::vector<std::string> problems;  // what is damaged or missing
};

struct Explanation {
  std::string directory;
  std::string options_file;
  bool own_probes = false;
  uint64_t write_ahead_log_bytes = 0;
  std::vector<FamilyExplanation> families;

  bool HasProblems() const;
};

// Every error is a sentence that names the thing and the remedy; Aborted if interrupted.
rocksdb::Status Explain(const ExplainOptions& options, Progress* progress, Explanation* result);

}  // namespace rocksieve::tools
