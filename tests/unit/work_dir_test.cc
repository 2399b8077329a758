// SPDX-License-Identifier: Apache-2.0
// Directories for what a command writes, where memory runs out.

#include <sys/resource.h>

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "support/work_dir.h"

namespace rocksieve {
namespace {

namespace fs = std::filesystem;

constexpr int kRemovedAtTermination = 7;

void AllowMemory(bool allowed) {
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = allowed ? limit.rlim_max : 0;
  setrlimit(RLIMIT_AS, &limit);
}

void TakeAllMemory() {
  AllowMemory(false);
  for (size_t bytes = size_t{1} << 20; bytes > 0; bytes /= 2) {
    while (std::malloc(bytes) != nullptr) {
    }
  }
}

// As a command, which keeps some for this.
[[noreturn]] void AfterTermination() {
  AllowMemory(true);
  WorkDir::RemoveAtTermination();
  std::_Exit(kRemovedAtTermination);
}

TEST(WorkDirDeathTest, OutOfMemoryWhileItIsRemovedItGoesAtTermination) {
  std::string parent = testing::TempDir() + "work_dir_XXXXXX";
  ASSERT_NE(mkdtemp(parent.data()), nullptr);
  const std::string path = parent + "/made";
  EXPECT_EXIT(
      {
        std::set_terminate(AfterTermination);
        std::unique_ptr<WorkDir> directory;
        if (!WorkDir::Create(path, "test", &directory).ok()) std::_Exit(1);
        fs::create_directory(directory->path() / "tree");
        TakeAllMemory();
        directory.reset();
      },
      testing::ExitedWithCode(kRemovedAtTermination), "");
  EXPECT_TRUE(fs::is_empty(parent));
  fs::remove_all(parent);
}

}  // namespace
}  // namespace rocksieve
