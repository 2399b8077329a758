// SPDX-License-Identifier: Apache-2.0
// A table file as explain, inspect, doctor and existing SST filters read it: footer, meta blocks,
// properties, filter partitions, filters; and as diff does, by its entries. With the first byte
// odd, the checksums of the footer, of the index of meta blocks, of those that it names and of the
// data blocks are made right; else the file is what it is.
//
// Oracle: whatever is wrong is said; memory is a few times the file's size, but for blocks that are
// uncompressed.
#include <cmath>

#include <rocksdb/env.h>

#include "tests/fuzz/memory_watch.h"
#include "tests/fuzz/target.h"
#include "lib/format/coding.h"
#include "plugin/database/tree.h"
#include "plugin/tables/sst_block.h"
#include "plugin/tables/table_entries.h"
#include "plugin/tables/table_file.h"

namespace rocksieve::fuzz {
namespace {

constexpr size_t kSlackBytes = 1 << 20;
constexpr size_t kMostTimes = 128;  // of the file's size: of entries of few bytes, mostly

class BytesFile final : public rocksdb::RandomAccessFile {
 public:
  explicit BytesFile(std::string_view bytes) : bytes_(bytes) {}
  rocksdb::Status Read(uint64_t offset, size_t count, rocksdb::Slice* result,
                       char* scratch) const override {
    const std::string_view part =
        offset < bytes_.size() ? bytes_.substr(offset, count) : std::string_view();
    std::copy(part.begin(), part.end(), scratch);
    *result = rocksdb::Slice(scratch, part.size());
    return rocksdb::Status::OK();
  }

 private:
  const std::string_view bytes_;
};

// One file, whatever its name.
class OneFileEnv final : public rocksdb::EnvWrapper {
 public:
  explicit OneFileEnv(std::string_view bytes)
      : EnvWrapper(rocksdb::Env::Default()), bytes_(bytes) {}
  rocksdb::Status GetFileSize(const std::string&, uint64_t* size) override {
    *size = bytes_.size();
    return rocksdb::Status::OK();
  }
  rocksdb::Status NewRandomAccessFile(const std::string&,
                                      std::unique_ptr<rocksdb::RandomAccessFile>* file,
                                      const rocksdb::EnvOptions&) override {
    *file = std::make_unique<BytesFile>(bytes_);
    return rocksdb::Status::OK();
  }

 private:
  const std::string_view bytes_;
};

constexpr size_t kFooterBytes = 53;

void MakeChecksumRight(uint64_t offset, uint64_t bytes, const TableFooter& footer,
                       std::string* file) {
  if (offset > file->size() || bytes > file->size() - offset ||
      file->size() - offset - bytes < kBlockTrailerBytes) {
    return;
  }
  const std::string_view covered = std::string_view(*file).substr(offset, bytes + 1);
  StoreLittleEndian32(file->data() + offset + bytes + 1, BlockChecksum(footer, offset, covered));
}

// That of a footer of format_version 6 and later, whatever it covers.
void MakeFooterRight(std::string* bytes) {
  char* const text = bytes->data() + bytes->size() - kFooterBytes;
  TableFooter footer;
  footer.checksum = static_cast<rocksdb::ChecksumType>(text[0]);
  footer.base_context_checksum = LoadLittleEndian32(text + 9);
  if (LoadLittleEndian32(text + 41) < kContextFormatVersion) return;
  StoreLittleEndian32(text + 5, 0);
  StoreLittleEndian32(text + 5, BlockChecksum(footer, bytes->size() - kFooterBytes,
                                              std::string_view(text, kFooterBytes)));
}

// As those who read it would find it.
void MakeChecksumsRight(std::string* bytes) {
  if (bytes->size() < kFooterBytes) return;
  MakeFooterRight(bytes);
  BytesFile file(*bytes);
  TableFooter footer;
  if (!ReadFooter(&file, bytes->size(), &footer).ok()) return;
  const auto right = [&](BlockPlace place) {
    MakeChecksumRight(place.offset, place.size, footer, bytes);
  };
  right(footer.meta_index);
  std::string meta_index;
  if (!ReadBlock(&file, bytes->size(), footer, footer.meta_index, false, &meta_index).ok()) return;
  ForEachEntry(meta_index, [&](std::string_view, std::string_view value) {
    BlockPlace place;
    if (TakeVarint(&value, &place.offset) && TakeVarint(&value, &place.size)) right(place);
    return true;
  }).PermitUncheckedError();
}

// Those of the blocks that an index names, as far as it can be read.
void MakeDataChecksumsRight(std::string* bytes) {
  OneFileEnv env(*bytes);
  std::unique_ptr<TableFile> file;
  if (!TableFile::Open(&env, "000007.sst", &file).ok()) return;
  const TableFooter footer = file->footer();
  const BlockPlace* const named = file->MetaBlock("rocksdb.index");
  const BlockPlace place = named != nullptr ? *named : footer.index;
  MakeChecksumRight(place.offset, place.size, footer, bytes);
  std::string stored, index;
  uint8_t compression = 0;
  if (!ReadStoredBlock(file->file(), bytes->size(), footer, place, /*check=*/false, &stored,
                       &compression)
           .ok() ||
      !Uncompress(compression, stored, "", &index).ok()) {
    return;
  }
  ForEachIndexEntry(index, file->properties().index_value_is_delta_encoded,
                    [&](std::string_view, BlockPlace data) {
                      MakeChecksumRight(data.offset, data.size, footer, bytes);
                      return true;
                    })
      .PermitUncheckedError();
}

void ReadEntries(std::string_view bytes) {
  OneFileEnv env(bytes);
  std::unique_ptr<TableEntries> entries;
  rocksdb::Status status = TableEntries::Open(&env, "000007.sst", 4096, nullptr, &entries);
  if (status.ok()) status = entries->CheckFirstBlock();
  if (!status.ok()) return FUZZ_CHECK(!status.ToString().empty());
  for (const DeletedRange& range : entries->deleted_ranges()) Use(range.first.size());
  uint64_t sum = 0;
  while (entries->Next()) {
    for (char byte : entries->entry().user_key) sum += static_cast<uint8_t>(byte);
    for (char byte : entries->entry().value) sum += static_cast<uint8_t>(byte);
  }
  Use(sum);
  for (const std::string_view key : {"", "m", "\xFF"}) {
    entries->Seek(key);
    if (entries->Next()) Use(entries->entry().user_key.size());
  }
}

void Read(std::string_view bytes) {
  OneFileEnv env(bytes);
  std::unique_ptr<TableFile> file;
  const rocksdb::Status status = TableFile::Open(&env, "000007.sst", &file);
  if (!status.ok()) return FUZZ_CHECK(!status.ToString().empty());
  FilterPlaces places;
  file->FindFilter(&places).PermitUncheckedError();
  const FileFilter filter(*file);
  for (const std::string& problem : filter.problems) FUZZ_CHECK(!problem.empty());
  const double rate = filter.PredictedRate();
  FUZZ_CHECK(std::isnan(rate) || (rate >= 0 && rate <= 1));
  Use(filter.entries);
  Use(filter.family);
  Use(filter.parameters);
  Use(filter.can_be_asked);
}

}  // namespace
}  // namespace rocksieve::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rocksieve::fuzz;
  Choices choices(data, size);
  const bool right = choices.Flag();
  std::string bytes(choices.Rest());
  if (right) {
    MakeChecksumsRight(&bytes);
    MakeDataChecksumsRight(&bytes);
  }
  const ExactCopy exact(bytes);
  {
    const MemoryWatch watch(kSlackBytes + kMostTimes * bytes.size());
    Read(exact.view());
  }
  ReadEntries(exact.view());
  return 0;
}
