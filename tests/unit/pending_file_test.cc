// SPDX-License-Identifier: Apache-2.0
// Files that appear when they are complete, and links that somebody planted.
#include "support/pending_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace rocksieve {
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
  std::unique_ptr<PendingFile> Created() const {
    std::string error;
    return PendingFile::Create(Path(), &error);
  }
  static void Write(PendingFile* file, const std::string& text) {
    std::string error;
    EXPECT_TRUE(file->Append(text, &error)) << error;
  }
  static void Publish(PendingFile* file) {
    std::string error;
    EXPECT_EQ(file->Publish(&error), 0) << error;
  }

  fs::path directory_;
};

TEST_F(PendingFileTest, AppearsWhenItIsPublished) {
  const auto file = Created();
  ASSERT_NE(file, nullptr);
  Write(file.get(), "rows");
  EXPECT_FALSE(fs::exists(Path()));
  Publish(file.get());
  EXPECT_EQ(Contents(), "rows");
  EXPECT_EQ(Files(), 1u);
}

TEST_F(PendingFileTest, ReplacesWhatIsThereAndKeepsItsPermissions) {
  std::ofstream(Path()) << "old";
  ASSERT_EQ(chmod(Path().c_str(), 0640), 0);
  {
    const auto file = Created();
    Write(file.get(), "not published");
  }
  EXPECT_EQ(Contents(), "old");
  const auto file = Created();
  Write(file.get(), "new");
  Publish(file.get());
  EXPECT_EQ(Contents(), "new");
  EXPECT_EQ(Files(), 1u);
  EXPECT_EQ(fs::status(Path()).permissions(), fs::perms(0640));
}

TEST_F(PendingFileTest, CanBeOpenedByOthersWhileItHasNoName) {
  const auto file = Created();
  std::ofstream(file->open_path()) << "by another writer";
  Publish(file.get());
  EXPECT_EQ(Contents(), "by another writer");
}

TEST_F(PendingFileTest, FollowsNoLinkThatSomebodyPlanted) {
  const fs::path target = directory_ / "precious";
  std::ofstream(target) << "precious";
  fs::create_symlink(target, Path() + "." + std::to_string(getpid()) + ".tmp");
  const auto file = Created();
  Write(file.get(), "rows");
  Publish(file.get());
  EXPECT_EQ(Contents(), "rows");
  EXPECT_EQ(fs::file_size(target), 8u);
  EXPECT_EQ(Files(), 3u);
}

TEST_F(PendingFileTest, GetsNoNameThatADirectoryHas) {
  ASSERT_TRUE(fs::create_directory(Path()));
  {
    const auto file = Created();
    Write(file.get(), "rows");
    std::string error;
    EXPECT_NE(file->Publish(&error), 0);
    EXPECT_NE(error.find(Path()), std::string::npos) << error;
  }
  EXPECT_EQ(Files(), 1u);
}

TEST_F(PendingFileTest, NeedsADirectory) {
  std::string error;
  EXPECT_EQ(PendingFile::Create("/nowhere/result.tsv", &error), nullptr);
  EXPECT_NE(error.find("/nowhere/result.tsv: No such file or directory"), std::string::npos);
}

TEST_F(PendingFileTest, WhatAPathNames) {
  OutputPlace place;
  std::string error;
  EXPECT_TRUE(FindOutputPlace("-", &place, &error) && place.is_stream);
  EXPECT_TRUE(FindOutputPlace("/dev/null", &place, &error) && place.is_stream);
  EXPECT_TRUE(FindOutputPlace(Path(), &place, &error) && !place.is_stream);
  EXPECT_EQ(place.path, Path());
  std::ofstream(Path()) << "there";
  const std::string link = (directory_ / "link").string();
  fs::create_symlink(Path(), link);
  EXPECT_TRUE(FindOutputPlace(link, &place, &error) && !place.is_stream);
  EXPECT_EQ(place.path, fs::canonical(Path()).string());
  EXPECT_FALSE(FindOutputPlace(directory_.string(), &place, &error));
  EXPECT_NE(error.find("is a directory"), std::string::npos);
}

}  // namespace
}  // namespace rocksieve
