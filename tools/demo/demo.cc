#include "tools/demo/demo.h"

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include <rocksdb/db.h>

#include "support/parallel.h"
#include "support/work_dir.h"
#include "tools/demo/expectation.h"
#include "tools/demo/keys.h"
#include "tools/demo/tree.h"
#include "tools/demo/variants.h"

namespace rocksieve::tools {
namespace {

using Databases = std::vector<std::unique_ptr<rocksdb::DB>>;
using rocksdb::Status;

Status BuildAndOpen(const std::vector<Variant>& variants, const WorkDir& directory,
                    const Keys& keys, Progress* progress, Databases* databases) {
  databases->resize(variants.size());
  progress->Begin("building one tree with each filter", variants.size() * keys.present.size());
  return RunAll(variants.size(), [&](size_t i) {
    const auto path = directory.path() / variants[i].directory;
    const Status status = BuildTree(path, variants[i], keys.present, progress);
    return status.ok() ? OpenTree(path, variants[i], &(*databases)[i]) : status;
  });
}

// All but the times, and the comparison with another tree.
Status Examine(const Variant& variant, rocksdb::DB* db, const Keys& keys, Progress* progress,
               TreeShape* tree, VariantResult* result) {
  result->name = variant.name;
  result->directory = variant.directory;
  Status status = GetTreeShape(db, tree);
  if (status.ok()) status = CheckPresent(db, keys.present, progress, &result->present);
  if (status.ok()) status = CountMissingCosts(db, keys.missing, progress, &result->missing);
  if (!status.ok()) return status;

  for (const ShapeFile& file : *tree) {
    result->keys += file.keys;
    result->filter_bytes += file.filter_bytes;
  }
  const FileRate rate = ExpectedRate(variant, *tree, LookupsPerFile(*tree, keys.missing));
  result->expected_rate = ExpectedShare(rate.mean, rate.variance, result->missing.filter_probes);
  return Status::OK();
}

Status Measure(const std::vector<Variant>& variants, const Databases& databases, const Keys& keys,
               Progress* progress, DemoResult* result) {
  result->variants.resize(variants.size());
  std::vector<TreeShape> trees(variants.size());
  progress->Begin("looking up all keys with each filter", variants.size() * keys.distinct());
  Status status = RunAll(variants.size(), [&](size_t i) {
    return Examine(variants[i], databases[i].get(), keys, progress, &trees[i],
                   &result->variants[i]);
  });
  if (!status.ok()) return status;
  for (size_t i = 0; i < trees.size(); i++) {
    result->variants[i].tree_difference = TreeDifference(trees[0], trees[i]);
  }
  result->tree = std::move(trees[0]);

  std::vector<LookupTimes> times;
  status = TimeLookups(databases, keys, progress, &times);
  for (size_t i = 0; i < times.size(); i++) result->variants[i].times = times[i];
  return status;
}

}  // namespace

Status RunDemo(const DemoOptions& options, Progress* progress, DemoResult* result) {
  const auto start = std::chrono::steady_clock::now();
  progress->Begin("reading keys");
  Keys keys;
  Status status = LoadKeys(options.keys, &keys);
  std::vector<Variant> variants;
  if (status.ok()) status = MakeVariants(&variants);
  std::unique_ptr<WorkDir> directory;
  if (status.ok())
    status = WorkDir::Create(options.database_directory, "rocksieve-demo", &directory);
  if (!status.ok()) return status;

  *result = {};
  result->keys_source = options.keys;
  result->lines = keys.lines;
  result->present_keys = keys.present.size();
  result->missing_keys = keys.missing.size();
  Databases databases;
  status = BuildAndOpen(variants, *directory, keys, progress, &databases);
  if (status.ok()) status = Measure(variants, databases, keys, progress, result);
  if (!status.ok()) return status;

  if (!options.database_directory.empty()) {
    directory->Keep();
    result->kept_directory = directory->path().string();
  }
  result->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return status;
}

}  // namespace rocksieve::tools
