// SPDX-License-Identifier: Apache-2.0
#include "plugin/join_api/recheck.h"

namespace rocksieve::join {
namespace {

std::optional<std::string> DigestOf(const std::optional<DifferencePair::Side>& side) {
  if (!side) return std::nullopt;
  return std::string(side->digest);
}

}  // namespace

void Recheck::Add(const DifferencePair& pair) {
  if (rows_.size() == most_rows_) return;
  Seen seen;
  seen.key = pair.key;
  seen.local = DigestOf(pair.local);
  seen.remote = DigestOf(pair.remote);
  rows_.push_back(std::move(seen));
}

std::vector<KeyInterval> Recheck::Suspects() const {
  std::vector<KeyInterval> parts;
  for (const Seen& seen : rows_) {
    if (seen.suspect) parts.push_back({seen.key, seen.key + '\0'});
  }
  return parts;
}

void Recheck::BeginLook() {
  next_ = 0;
  for (Seen& seen : rows_) seen.differs = false;
}

void Recheck::Look(const DifferencePair& pair) {
  while (next_ < rows_.size() && rows_[next_].key != pair.key) next_++;
  if (next_ == rows_.size()) return;
  Seen* const seen = &rows_[next_];
  seen->differs = seen->local == DigestOf(pair.local) && seen->remote == DigestOf(pair.remote);
}

void Recheck::EndLook() {
  looks_++;
  for (Seen& seen : rows_) seen.suspect &= seen.differs;
}

Verdict Recheck::VerdictOf(size_t row) const {
  if (row >= rows_.size() || looks_ == 0) return Verdict::kDifferent;
  return rows_[row].suspect ? Verdict::kDiverged : Verdict::kTransient;
}

}  // namespace rocksieve::join
