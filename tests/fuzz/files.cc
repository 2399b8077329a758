// SPDX-License-Identifier: Apache-2.0
// Files that others wrote: table files, OPTIONS, LOG, policies of users, documents for `report`.
#include <cmath>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>

#include "lib/format/coding.h"
#include "plugin/database/column_family.h"
#include "plugin/database/policy_spec.h"
#include "plugin/database/tree.h"
#include "plugin/tables/sst_block.h"
#include "plugin/tables/table_entries.h"
#include "plugin/tables/table_file.h"
#include "tests/fuzz/target.h"
#include "tools/doctor/checks.h"
#include "tools/report/html.h"

// A block of an SST file without its file: entries, an index of places, properties.
//
// Oracle: entries lie in the block, and what the two readers of an index say of keys is the same.
FUZZ_TARGET(sst_block) {
  using namespace rocksieve;
  uint64_t value_bytes = 0;
  BlockCursor entries(input);
  while (entries.Next()) {
    FUZZ_CHECK(entries.key().size() <= input.size());
    fuzz::Use(std::string(entries.key()));
    value_bytes += entries.value().size();
  }
  const rocksdb::Status& status = entries.status();
  FUZZ_CHECK(value_bytes <= input.size());
  FUZZ_CHECK(status.ok() || status.IsCorruption() || status.IsNotSupported());
  for (const bool delta : {false, true}) {
    BlockCursor index(input, /*has_value_sizes=*/!delta);
    BlockPlace place;
    while (index.Next() && TakeIndexValue(delta, &index, &place)) {
      FUZZ_CHECK(index.key().size() <= input.size());
      fuzz::Use(place);
    }
  }
  TableProperties properties;
  const rocksdb::Status parsed = ParseProperties(input, &properties);
  FUZZ_CHECK(parsed.ok() == status.ok());
}

// A table file as explain, inspect, doctor and existing SST filters read it: footer, meta blocks,
// properties, filter partitions, filters; and as diff does, by its entries. With the first byte
// odd, the checksums of the footer, of the index of meta blocks, of those that it names and of the
// data blocks are made right; else the file is what it is.
//
// Oracle: whatever is wrong is said; memory is a few times the file's size, but for blocks that are
// uncompressed.
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
  BlockCursor entries(meta_index);
  while (entries.Next()) {
    std::string_view value = entries.value();
    BlockPlace place;
    if (TakeVarint(&value, &place.offset) && TakeVarint(&value, &place.size)) right(place);
  }
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
  const bool delta_values = file->properties().index_value_is_delta_encoded;
  BlockCursor entries(index, /*has_value_sizes=*/!delta_values);
  BlockPlace data;
  while (entries.Next() && TakeIndexValue(delta_values, &entries, &data)) {
    MakeChecksumRight(data.offset, data.size, footer, bytes);
  }
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

FUZZ_TARGET(sst_file) {
  using namespace rocksieve::fuzz;
  Choices choices(input);
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
}

// RocksDB's info log, as doctor reads it.
FUZZ_TARGET(log_file) {
  using namespace rocksieve;
  std::istringstream text{std::string(input)};
  const tools::LogFile log = tools::ParseLog(text);
  FUZZ_CHECK(log.plugin_reports.size() <= input.size() && log.families.size() <= input.size());
  for (const tools::LoggedLine& report : log.plugin_reports) {
    FUZZ_CHECK(report.line > 0 && report.text.size() <= input.size() + 16);
  }
  fuzz::Use(log.ticker("rocksdb.block.cache.hit"));
}

// An OPTIONS file and its words for filter policies, as doctor and the other commands read them.
FUZZ_TARGET(options_file) {
  using namespace rocksieve;
  const std::string text(input);
  const OptionsFile file = OptionsFile::Parse(text);
  for (const std::string name : {"default", "users", ""}) {
    FUZZ_CHECK(file.ColumnFamilyValue(name, "comparator").size() <= input.size());
    const std::string words = file.TableValue(name, "filter_policy");
    FUZZ_CHECK(words.size() <= input.size());
    const tools::PolicyFacts policy = tools::PolicyFacts::Describe(words);
    const bool stated = !words.empty();
    FUZZ_CHECK(stated == (policy.is_none() + policy.works() + policy.is_unknown() == 1));
  }
  fuzz::Use(file.Value("DBOptions", "max_open_files"));
}

// Filter policies as users write them for whatif and load, ours and RocksDB's.
//
// Oracle: what is taken for a spec, a policy can be made of, or refuses with
// a reason; no exception.
FUZZ_TARGET(policy_spec) {
  using namespace rocksieve;
  const std::string text(input);
  PolicySpec spec;
  const rocksdb::Status parsed = PolicySpec::Parse(text, &spec);
  FUZZ_CHECK(parsed.ok() || !parsed.ToString().empty());
  if (parsed.ok()) {
    FUZZ_CHECK(!spec.FamilyName().empty());
    PolicySpec other;
    if (spec.automatic() != nullptr || spec.family() != Family::kNone) {
      fuzz::Use(spec.WithBits(7.5, &other).ok());
    }
  }
  std::shared_ptr<const rocksdb::FilterPolicy> policy;
  const rocksdb::Status made = NewPolicy(text, &policy);
  FUZZ_CHECK(made.ok() || !made.ToString().empty());
}

// What `rocksieve report --join=FILE` reads, and the part of the page that is made of it. An input
// is the file; and, if it has a zero byte, the document before that with some of its values changed
// as the bytes after it say, so that more inputs are of the right shape than by chance.
//
// Oracle: what is refused is refused with a remedy. What is taken is taken again,
// and its markup is well-formed UTF-8 that has elements and attributes of ours alone, however the
// text of the document tries to be some.
namespace rocksieve::tools {
namespace {

using fuzz::Choices;

constexpr size_t kMostValues = 10000, kMostChanges = 16;

// All values of the document, itself included.
void Collect(Json* value, std::vector<Json*>* values) {
  if (values->size() >= kMostValues) return;
  values->push_back(value);
  if (!value->is_structured()) return;
  for (Json& part : *value) Collect(&part, values);
}

Json OtherValue(Choices* choices) {
  switch (choices->UpTo(9)) {
    case 0:
      return nullptr;
    case 1:
      return choices->Flag();
    case 2:
      return choices->Number();
    case 3:
      return UINT64_MAX;
    case 4:
      return -static_cast<int64_t>(choices->Number() >> 1);
    case 5:
      return std::ldexp(static_cast<double>(choices->Byte()),
                        static_cast<int>(choices->UpTo(1015)));
    case 6:
      return Json::array();
    case 7:
      return Json::object();
    default:
      return std::string(choices->String());
  }
}

void Change(Json* document, Choices* choices) {
  std::vector<Json*> values;
  Collect(document, &values);
  Json* value = values[choices->UpTo(values.size() - 1)];
  const bool has_parts = value->is_structured() && !value->empty();
  if (has_parts && choices->Flag()) {
    const auto part =
        std::next(value->begin(), static_cast<std::ptrdiff_t>(choices->UpTo(value->size() - 1)));
    if (value->is_array() && choices->Flag()) {
      const Json copy = *part;
      value->insert(value->end(), choices->Byte(), copy);
    } else {
      value->erase(part);
    }
    return;
  }
  *value = OtherValue(choices);
}

// The places of the markup, in their order.
class Reader {
 public:
  explicit Reader(const std::string& markup) : rest_(markup) {}

  bool done() const { return rest_.empty(); }
  bool Take(std::string_view text) {
    if (rest_.substr(0, text.size()) != text) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  std::string_view UpTo(std::string_view ends) {
    const std::string_view part = rest_.substr(0, rest_.find_first_of(ends));
    rest_.remove_prefix(part.size());
    return part;
  }

 private:
  std::string_view rest_;
};

// Of what would be markup, text has entities alone.
void CheckText(std::string_view text) {
  FUZZ_CHECK(text.find_first_of("<>\"") == std::string_view::npos);
  for (size_t at = text.find('&'); at != std::string_view::npos; at = text.find('&', at + 1)) {
    bool is_entity = false;
    for (const std::string_view entity : {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"}) {
      is_entity |= text.substr(at, entity.size()) == entity;
    }
    FUZZ_CHECK(is_entity);
  }
}

void CheckMarkup(const std::string& markup) {
  static const std::set<std::string_view> kTags = {
      "section", "h2", "h3", "p",  "div", "table", "caption", "colgroup", "col", "thead",
      "tbody",   "tr", "th", "td", "svg", "rect",  "br",      "b",        "bdi", "code"};
  static const std::set<std::string_view> kAttributes = {
      "id",       "class", "scope", "role",   "tabindex", "aria-labelledby",     "aria-label",
      "x",        "y",     "width", "height", "viewBox",  "preserveAspectRatio", "aria-hidden",
      "focusable"};
  FUZZ_CHECK(Shown(markup, markup.size()) == markup);
  std::vector<std::string_view> open;
  for (Reader in(markup); !in.done();) {
    CheckText(in.UpTo("<"));
    if (!in.Take("<")) break;
    if (in.Take("/")) {
      FUZZ_CHECK(!open.empty() && in.UpTo(">") == open.back() && in.Take(">"));
      open.pop_back();
      continue;
    }
    open.push_back(in.UpTo(" />"));
    FUZZ_CHECK(kTags.count(open.back()) == 1);
    while (in.Take(" ")) {
      FUZZ_CHECK(kAttributes.count(in.UpTo("=")) == 1 && in.Take("=\""));
      const std::string_view value = in.UpTo("\"");
      CheckText(value);
      FUZZ_CHECK(value != "nan" && value != "inf" && in.Take("\""));
    }
    if (in.Take("/")) open.pop_back();
    FUZZ_CHECK(in.Take(">"));
  }
  FUZZ_CHECK(open.empty());
}

void Read(const std::string& text) {
  JoinFile file;
  std::string error;
  if (!ParseJoinFile(text, &file, &error)) {
    FUZZ_CHECK(error.find("make one by rocksieve join") != std::string::npos);
    return FUZZ_CHECK(Shown(error, error.size()) == error);
  }
  JoinFile again;
  FUZZ_CHECK(ParseJoinFile(file.document.dump(), &again, &error));
  FUZZ_CHECK(again.is_plan == file.is_plan);
  CheckMarkup(JoinSection(1, file).markup());
}

void ReadChanged(std::string_view text, Choices* choices) {
  Json document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) return;
  for (size_t i = 0; i < kMostChanges && !choices->empty(); i++) Change(&document, choices);
  Read(document.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace
}  // namespace rocksieve::tools

FUZZ_TARGET(join_document) {
  const std::string text(input);
  rocksieve::tools::Read(text);
  const size_t end = text.find('\0');
  if (end == std::string::npos) return;
  rocksieve::fuzz::Choices choices(std::string_view(text).substr(end + 1));
  rocksieve::tools::ReadChanged(std::string_view(text).substr(0, end), &choices);
}
