// SPDX-License-Identifier: Apache-2.0
// What `rocksieve explain` finds out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <rocksdb/status.h>

#include "plugin/database/tree.h"
#include "support/progress.h"
#include "support/table.h"

namespace rocksieve::tools {

struct ExplainOptions {
  std::string directory;
  std::vector<std::string> column_families;  // all if empty
  std::string probes;                        // a file of missing keys; empty: made ones
  bool probes_are_hex = false;
  uint64_t probe_count = 200000;
  std::vector<uint64_t> range_lengths;  // ranges that are looked at; none: no ranges, nor prefixes
};

// The document of docs/json.md. Every error is a sentence that names the thing and the remedy;
// Aborted if interrupted.
// With `opened`, of that database, and `options.directory` is of no account.
rocksdb::Status Explain(const ExplainOptions& options, Progress* progress, Json* explanation,
                        const DatabaseTrees* opened = nullptr);

// "X data blocks in vain (95 %: ...", to the end of the sentence and one about files without
// filters, of one column family of the document. Its rates are written as they are there: numbers
// with three digits, text as it is.
std::string UselessReadsWords(const Json& family);

// Cells of its tables: "L2", or what it says of all levels; of 1,000 lookups; "8 to 9 probes", null
// if a group of filters has no setting; "prefix of 8", "256 numbers".
std::string LevelName(const Json& level);
std::string PerThousand(const Json& passes);
Json SettingOf(const Json& group);
std::string NameOfRange(const Json& kind);

// What to do about problems.
extern const char kDamageRemedy[];

// What iterators over ranges without keys read in a column family.
//
// Lengths, as "16,256,4096"; empty: these. InvalidArgument for anything else.
rocksdb::Status ParseRangeLengths(const std::string& text, std::vector<uint64_t>* lengths);

// The "ranges" of docs/json.md: for ranges of these lengths, and for absent prefixes of the lengths
// that filters have. Nothing, and a note that says why, where the order of keys is not bytewise.
rocksdb::Status ExplainRanges(const Tree& tree, const std::vector<uint64_t>& lengths,
                              Progress* progress, Json* ranges, std::vector<std::string>* notes);

}  // namespace rocksieve::tools
