// SPDX-License-Identifier: Apache-2.0
// Files that appear when they are complete, and links that somebody planted.
#include "lib/join/sort/pending_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace rocksieve::join {
namespace {

namespace fs = std::filesystem;

class PendingFileTest : public testing::Test {
 protected:
  PendingFileTest() {
    std::string pattern = testing::TempDir() + "pending_file_XXXXXX";
    directory_ = mkdtemp(pattern.data());
  }
  ~PendingFileTest() override { fs::remove_all(directory_); }

  std::string Path() const { return (directory_ / "result.tsv").string(); }
  std::string Contents() const {
    std::ostringstream text;
    text << std::ifstream(Path()).rdbuf();
    return text.str();
  }
  size_t Files() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(directory_), fs::directory_iterator()));
  }
  static void Write(const PendingFile& file, const std::string& text) {
    EXPECT_EQ(write(file.descriptor(), text.data(), text.size()), ssize_t(text.size()));
  }

  fs::path directory_;
};

TEST_F(PendingFileTest, AppearsWhenItIsPublished) {
  const auto file = PendingFile::Create(Path());
  ASSERT_TRUE(file.ok()) << file.status();
  Write(**file, "rows");
  EXPECT_FALSE(fs::exists(Path()));
  ASSERT_TRUE((*file)->Publish().ok());
  EXPECT_EQ(Contents(), "rows");
  EXPECT_EQ(Files(), 1u);
}

TEST_F(PendingFileTest, ReplacesWhatIsThereAndKeepsItsPermissions) {
  std::ofstream(Path()) << "old";
  ASSERT_EQ(chmod(Path().c_str(), 0640), 0);
  {
    const auto file = PendingFile::Create(Path());
    Write(**file, "not published");
  }
  EXPECT_EQ(Contents(), "old");
  const auto file = PendingFile::Create(Path());
  Write(**file, "new");
  ASSERT_TRUE((*file)->Publish().ok());
  EXPECT_EQ(Contents(), "new");
  EXPECT_EQ(Files(), 1u);
  EXPECT_EQ(fs::status(Path()).permissions(), fs::perms(0640));
}

TEST_F(PendingFileTest, CanBeOpenedByOthersWhileItHasNoName) {
  const auto file = PendingFile::Create(Path());
  std::ofstream((*file)->open_path()) << "by another writer";
  ASSERT_TRUE((*file)->Publish().ok());
  EXPECT_EQ(Contents(), "by another writer");
}

TEST_F(PendingFileTest, FollowsNoLinkThatSomebodyPlanted) {
  const fs::path target = directory_ / "precious";
  std::ofstream(target) << "precious";
  fs::create_symlink(target, Path() + "." + std::to_string(getpid()) + ".tmp");
  const auto file = PendingFile::Create(Path());
  Write(**file, "rows");
  ASSERT_TRUE((*file)->Publish().ok());
  EXPECT_EQ(Contents(), "rows");
  EXPECT_EQ(fs::file_size(target), 8u);
  EXPECT_EQ(Files(), 3u);
}

TEST_F(PendingFileTest, NeedsADirectory) {
  EXPECT_TRUE(absl::IsFailedPrecondition(PendingFile::Create("/nowhere/result.tsv").status()));
}

}  // namespace
}  // namespace rocksieve::join
