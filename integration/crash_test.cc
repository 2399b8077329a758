// SPDX-License-Identifier: Apache-2.0
// A process that writes is killed at random moments; the database opens again and holds exactly
// what was written.
//
// The program runs itself as the writer: "crash_test --write PATH LAYOUT SEED FIRST". The writer's
// steps are a function of the seed and their number, and it tells each completed step through a
// pipe. After the kill the database must hold the steps told, and perhaps the one that was under
// way.
#include <sys/wait.h>

#include <csignal>
#include <cstdlib>
#include <cstring>

#include <rocksdb/write_batch.h>

#include "integration/database.h"

namespace rocksieve {
namespace {

constexpr uint64_t kKeyRange = 20000;
constexpr char kProgressKey[] = "progress";

struct Layout {
  const char* spec;
  bool partitioned;
};

constexpr Layout kLayouts[] = {{"rocksieve.bloom:10", false},
                               {"rocksieve.cuckoo:12.5", true},
                               {"rocksieve.bloom:10:salted", true},
                               {"rocksieve.cuckoo:1%", false},
                               {"rocksieve.ribbon:10", true}};

// Small everything, so that flushes and compactions are under way all the time.
DbConfig WriterConfig(const Layout& layout) {
  DbConfig config(layout.spec);
  if (layout.partitioned) config.Partitioned(512);
  config.options.disable_auto_compactions = false;
  config.options.write_buffer_size = 64 << 10;
  config.options.max_write_buffer_number = 4;
  config.options.level0_file_num_compaction_trigger = 2;
  config.options.target_file_size_base = 64 << 10;
  config.options.max_bytes_for_level_base = 256 << 10;
  config.options.max_background_jobs = 4;
  return config;
}

// One step: some puts and deletes, and the number of steps so far. It is written as one batch,
// which is applied as a whole or not at all.
class Step {
 public:
  Step(uint64_t seed, uint64_t number) : random_(seed + number), number_(number) {}

  template <typename Put, typename Delete>
  void Apply(Put put, Delete remove) {
    for (int i = 0; i < 5; i++) {
      const std::string key = PresentKey(random_() % kKeyRange);
      if (random_() % 4 == 0) {
        remove(key);
      } else {
        put(key, "step " + std::to_string(number_) + std::string(random_() % 100, '.'));
      }
    }
    put(kProgressKey, std::to_string(number_ + 1));
  }

 private:
  Random random_;
  const uint64_t number_;
};

// Writes until it is killed. File descriptor 1 is the pipe.
int Write(const std::string& path, const Layout& layout, uint64_t seed, uint64_t first) {
  const DbPtr db = Open(WriterConfig(layout).Build(), path);
  for (uint64_t number = first;; number++) {
    rocksdb::WriteBatch batch;
    Step(seed, number)
        .Apply(
            [&](const std::string& key, const std::string& value) { Must(batch.Put(key, value)); },
            [&](const std::string& key) { Must(batch.Delete(key)); });
    Must(db->Write(rocksdb::WriteOptions(), &batch));
    const uint64_t done = number + 1;
    if (write(STDOUT_FILENO, &done, sizeof(done)) != sizeof(done)) return 1;
  }
}

// Runs a writer, kills it some time after its first step, and returns the number of steps it told.
uint64_t RunAndKill(const std::string& path, size_t layout, uint64_t seed, uint64_t first,
                    useconds_t microseconds) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("no pipe");
  std::string arguments[] = {
      "crash_test",         "--write", path, std::to_string(layout), std::to_string(seed),
      std::to_string(first)};
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const pid_t writer = fork();
  if (writer == 0) {
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    execv("/proc/self/exe", argv.data());
    _exit(127);
  }
  close(ends[1]);
  uint64_t told = first, number = 0;
  bool started = false;
  // A pipe's end is read until all that the writer said is taken, which is after its death.
  while (read(ends[0], &number, sizeof(number)) == sizeof(number)) {
    told = number;
    if (!started) {
      started = true;
      // The pipe holds some 8000 numbers: a writer that fills it waits, and is killed like that.
      usleep(microseconds);
      kill(writer, SIGKILL);
    }
  }
  close(ends[0]);
  int status = 0;
  waitpid(writer, &status, 0);
  EXPECT_TRUE(started) << "the writer wrote nothing";
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "status " << status;
  return told;
}

class Crash : public testing::TestWithParam<size_t> {};

TEST_P(Crash, NothingIsLostAndNothingComesBack) {
  constexpr int kRounds = 6;
  const Layout& layout = kLayouts[GetParam()];
  const TemporaryDirectory directory;
  const std::string path = directory / "db";
  const uint64_t seed = 77000 + 1000000000 * GetParam();
  Random random = SeededRandom(seed);
  const std::vector<std::string> missing = MissingKeys(kKeyRange);

  Oracle oracle;
  uint64_t steps = 0, filters_rejected = 0, filters_opened = 0;
  for (int round = 0; round < kRounds; round++) {
    SCOPED_TRACE(round);
    const useconds_t delay = static_cast<useconds_t>(random() % 250000);
    const uint64_t told = RunAndKill(path, GetParam(), seed, steps, delay);

    const DbConfig config = WriterConfig(layout);
    const DbPtr db = Open(config.Build(), path);
    std::string progress;
    Must(db->Get(rocksdb::ReadOptions(), kProgressKey, &progress));
    const uint64_t written = std::stoull(progress);
    ASSERT_GE(written, told);
    ASSERT_LE(written, told + 1);
    for (; steps < written; steps++) {
      Step(seed, steps)
          .Apply([&](const std::string& key, const std::string& value) { oracle[key] = value; },
                 [&](const std::string& key) { oracle.erase(key); });
    }
    ExpectHolds(db.get(), oracle, missing);
    Must(db->VerifyChecksum());
    filters_rejected += LookUp(db.get(), missing).filters_rejected;
    const FilterStats stats = StatsOf(config.table.filter_policy);
    filters_opened += stats.filters_opened;
    EXPECT_EQ(stats.damaged_filters + stats.foreign_filters_opened, 0u);
    if (HasFailure()) break;
  }
  std::printf("%llu steps, %zu keys\n", static_cast<unsigned long long>(steps), oracle.size());
  EXPECT_GT(steps, 100u);
  // The test is worth something only if filters took part.
  EXPECT_GT(filters_opened, 0u);
  EXPECT_GT(filters_rejected, missing.size());
}

INSTANTIATE_TEST_SUITE_P(Layouts, Crash, testing::Range(size_t{0}, std::size(kLayouts)));

}  // namespace
}  // namespace rocksieve

int main(int argc, char** argv) {
  if (argc == 6 && std::strcmp(argv[1], "--write") == 0) {
    const size_t layout = std::strtoull(argv[3], nullptr, 10);
    return rocksieve::Write(argv[2], rocksieve::kLayouts[layout],
                            std::strtoull(argv[4], nullptr, 10),
                            std::strtoull(argv[5], nullptr, 10));
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
