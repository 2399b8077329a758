// SPDX-License-Identifier: Apache-2.0
#include "tools/exporter/look.h"

#include <chrono>
#include <exception>
#include <fstream>
#include <memory>
#include <new>
#include <system_error>
#include <vector>

#include "plugin/database/database.h"
#include "plugin/database/tree.h"
#include "tools/explain/explain.h"

namespace rocksieve::tools {
namespace {

using rocksdb::Status;

// That this process has read since it began, from files above all.
uint64_t BytesRead() {
  std::ifstream io("/proc/self/io");
  std::string name;
  for (uint64_t number = 0; io >> name >> number;) {
    if (name == "rchar:") return number;
  }
  return 0;
}

Status LookOnce(const std::string& directory, Progress* progress, Look* look) {
  DatabaseTrees opened;
  Status status = OpenAndReadTrees(directory, {}, progress, &opened);
  if (status.ok()) status = Explain(ExplainOptions(), progress, &look->explanation, &opened);
  if (!status.ok()) return status;
  const Facts facts = FactsOf(std::move(opened), progress);
  look->process_seen = facts.process.has_value();
  look->findings = RunChecks(facts);
  return status;
}

}  // namespace

Look LookAt(const std::string& directory, Progress* progress) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  const uint64_t bytes_before = BytesRead();
  Look look;
  try {
    const Status status = LookOnce(directory, progress, &look);
    if (!status.ok()) look.error = MessageOf(status);
  } catch (const std::bad_alloc&) {
    look.error = "out of memory: give it more (ulimit -v)";
  } catch (const std::system_error& error) {
    look.error = std::string(error.what()) + ": allow it more threads (ulimit -u) or memory";
  } catch (const std::exception& exception) {
    look.error = exception.what();
  }
  look.interrupted = InterruptSignal() != 0;
  look.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  look.read_bytes = BytesRead() - bytes_before;
  look.unix_time =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  return look;
}

}  // namespace rocksieve::tools
