// SPDX-License-Identifier: Apache-2.0
// Libraries that could stand in the place of code of our own, and what they cost:
// docs/decisions/libraries.md.
//
//   libraries sort house|rocksdb ROWS MIB    rows of 66 bytes, sorted and read once, in a directory
//                                            that is left behind if this is killed
//   libraries messages                       the messages of a join as protobuf would have them
//   libraries json                           JSON values by simdjson, if it is installed
#include <google/protobuf/empty.pb.h>
#include <google/protobuf/unknown_field_set.h>
#include <rocksdb/db.h>
#include <rocksdb/memtablerep.h>
#include <rocksdb/table.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <vector>
#if __has_include(<simdjson.h>)
#include <simdjson.h>
#define ROCKSIEVE_SIMDJSON
#endif

#include "lib/join/join_key/json_pointer.h"
#include "lib/join/session/messages.h"
#include "lib/join/sort/row_sorter.h"

namespace rocksieve::join {
namespace {

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

rusage Usage() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage;
}

double ProcessorSeconds() {
  const rusage usage = Usage();
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

void Require(bool ok, const std::string& what) {
  if (ok) return;
  std::fprintf(stderr, "libraries: %s\n", what.c_str());
  std::exit(2);
}

using MakeRow = std::function<void(std::string* key, std::string* value)>;
// Called with each key in order.
using Visit = std::function<void(std::string_view key)>;

void SortInTheHouse(uint64_t rows, size_t memory_bytes, const std::string& directory,
                    const MakeRow& make, const std::function<void()>& sorted, const Visit& visit) {
  SortOptions options;
  options.memory_bytes = memory_bytes;
  options.directory = directory;
  RowSorter sorter(options);
  std::string key, value;
  for (uint64_t i = 0; i < rows; i++) {
    make(&key, &value);
    Require(sorter.Add({key, value}).ok(), "cannot sort");
  }
  const absl::StatusOr<std::unique_ptr<Source>> source = sorter.Finish();
  Require(source.ok(), "cannot merge");
  sorted();
  const std::unique_ptr<Cursor> cursor = (*source)->Scan({});
  for (Row row; cursor->Next(&row);) visit(row.key);
}

// Of equal keys all rows stay, in their order: a number follows each key. No log, no compaction;
// files of zstd, merged while they are read.
void SortByRocksDb(uint64_t rows, size_t memory_bytes, const std::string& directory,
                   const MakeRow& make, const std::function<void()>& sorted, const Visit& visit) {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.memtable_factory = std::make_shared<rocksdb::VectorRepFactory>();
  options.allow_concurrent_memtable_write = false;
  options.write_buffer_size = memory_bytes / 4;
  options.disable_auto_compactions = true;
  options.level0_slowdown_writes_trigger = options.level0_stop_writes_trigger = 1 << 30;
  options.compression = rocksdb::kZSTD;
  options.compression_opts.level = 1;
  rocksdb::BlockBasedTableOptions table;
  table.block_size = 128 << 10;
  table.block_cache = rocksdb::NewLRUCache(memory_bytes / 8);
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  rocksdb::DB* opened = nullptr;
  const rocksdb::Status status = rocksdb::DB::Open(options, directory, &opened);
  Require(status.ok(), status.ToString());
  const std::unique_ptr<rocksdb::DB> db(opened);
  rocksdb::WriteOptions without_log;
  without_log.disableWAL = true;
  rocksdb::WriteBatch batch;
  std::string key, value;
  for (uint64_t i = 0; i < rows; i++) {
    make(&key, &value);
    for (int shift = 56; shift >= 0; shift -= 8) key.push_back(static_cast<char>(i >> shift));
    Require(batch.Put(key, value).ok(), "cannot add to a batch");
    if (batch.GetDataSize() < 256 << 10 && i + 1 < rows) continue;
    Require(db->Write(without_log, &batch).ok(), "cannot write");
    batch.Clear();
  }
  Require(db->Flush({}).ok(), "cannot flush");
  sorted();
  rocksdb::ReadOptions once;
  once.fill_cache = false;
  const std::unique_ptr<rocksdb::Iterator> row(db->NewIterator(once));
  for (row->SeekToFirst(); row->Valid(); row->Next()) {
    visit({row->key().data(), row->key().size() - sizeof(uint64_t)});
  }
  Require(row->status().ok(), row->status().ToString());
}

int Sort(const std::string& how, uint64_t rows, size_t mebibytes) {
  const std::string directory =
      (std::filesystem::temp_directory_path() / "rocksieve-libraries").string();
  std::filesystem::remove_all(directory);
  std::filesystem::create_directory(directory);
  std::mt19937_64 random(7);
  const MakeRow make = [&random](std::string* key, std::string* value) {
    key->clear();
    for (int i = 0; i < 2; i++) {
      const uint64_t number = random();
      key->append(reinterpret_cast<const char*>(&number), sizeof(number));
    }
    *value = "customer:" + std::to_string(random() % 100'000'000) + " ordered " +
             std::to_string(random() % 100'000) + " pieces, paid";
    value->resize(50, '.');
  };
  const double begin = Seconds();
  double sorted = 0;
  uint64_t seen = 0;
  std::string last;
  (how == "house" ? SortInTheHouse : SortByRocksDb)(
      rows, mebibytes << 20, directory, make, [&sorted] { sorted = Seconds(); },
      [&](std::string_view key) {
        Require(key >= last, "out of order");
        last = key;
        seen++;
      });
  Require(seen == rows, "rows are missing");
  std::printf(
      "%s: %llu rows in %zu MiB: sorted in %.1f s, read in %.1f s, processor %.1f s, "
      "at most %ld MiB\n",
      how.c_str(), static_cast<unsigned long long>(rows), mebibytes, sorted - begin,
      Seconds() - sorted, ProcessorSeconds(), Usage().ru_maxrss >> 10);
  std::filesystem::remove_all(directory);
  return 0;
}

// A message with the fields that proto3 would send: numbers that are not 0, bytes that are not
// empty.
class Fields {
 public:
  Fields& Number(uint64_t value) {
    if (value != 0) set_.AddVarint(++number_, value);
    return *this;
  }
  Fields& Fixed(uint64_t value) { return set_.AddFixed64(++number_, value), *this; }
  Fields& Bytes(size_t size) {
    if (size > 0) set_.AddLengthDelimited(++number_, std::string(size, 'x'));
    return *this;
  }
  Fields& Inner(const Fields& inner) { return Bytes(inner.size()); }
  size_t size() const { return Serialized().size(); }
  std::string Serialized() const {
    std::string bytes;
    Require(set_.SerializeToString(&bytes), "protobuf cannot serialize");
    return bytes;
  }

 private:
  google::protobuf::UnknownFieldSet set_;
  int number_ = 0;
};

// Encoded, with its length before it, beside one of several kinds in a stream, with its check.
void PrintMessage(const char* name, const Message& message, const Fields& fields, int* total) {
  const size_t own = Encode(message).size();
  google::protobuf::UnknownFieldSet with_check;
  std::string body = fields.Serialized();
  body.append(5, 'x');
  with_check.AddLengthDelimited(1, body);
  std::string theirs;
  Require(with_check.SerializeToString(&theirs), "protobuf cannot serialize");
  const size_t own_framed = own + (own < 128 ? 1 : own < 16384 ? 2 : 3);
  *total += static_cast<int>(theirs.size()) - static_cast<int>(own_framed);
  std::printf("%-16s %7zu bytes, as protobuf %7zu\n", name, own_framed, theirs.size());
}

int Messages() {
  constexpr uint64_t kKeys = 1'000'000;
  const SetSum sum = {kKeys, 1, 1};
  Fields sum_fields, interval;
  sum_fields.Number(kKeys).Fixed(1).Fixed(1);
  interval.Bytes(16).Bytes(16);
  int more = 0;
  PrintMessage("hello", Hello{.salt = 1, .keys = kKeys},
               Fields()
                   .Number(1)
                   .Number(1)
                   .Fixed(1)
                   .Number(kKeys)
                   .Number(4)
                   .Number(63)
                   .Number(1 << 26)
                   .Number(255),
               &more);
  HelloAnswer answer;
  answer.keys = kKeys;
  answer.most_keys_per_range = 1 << 20;
  PrintMessage("hello answer", answer,
               Fields().Number(1).Number(kKeys).Fixed(1).Number(1 << 20).Number(255), &more);
  Open open;
  open.interval = {"0123456789abcdef", "0123456789abcdeg"};
  open.sum = sum;
  open.estimator = std::string(1024, 'x');
  PrintMessage("open", open, Fields().Inner(interval).Inner(sum_fields).Number(1).Bytes(1024),
               &more);
  Facts facts;
  facts.sum = sum;
  facts.common = kKeys;
  PrintMessage("facts", facts, Fields().Inner(sum_fields).Number(kKeys), &more);
  for (const size_t bytes : {1000, 200, 20}) {
    PrintMessage("step", Step{1, std::string(bytes, 'x')}, Fields().Number(1).Bytes(bytes), &more);
  }
  PrintMessage("goodbye", Goodbye(), Fields(), &more);
  std::printf("a count of one range, in three steps: %d bytes more\n", more);

  std::string hostile;
  while (hostile.size() < 4 << 20) hostile.append("\x08\x01");  // a field that nobody knows
  google::protobuf::Empty parsed;
  Require(parsed.ParseFromString(hostile), "protobuf cannot parse");
  std::printf("of %zu bytes with unknown fields it keeps %zu\n", hostile.size(),
              static_cast<size_t>(parsed.SpaceUsedLong()));
  return 0;
}

#ifdef ROCKSIEVE_SIMDJSON
namespace on_demand = simdjson::ondemand;

// Fills *scalar as JsonPointer::Find() does.
bool FindOnDemand(on_demand::parser* parser, const std::string& json, const char* pointer,
                  std::string* scalar) {
  on_demand::document document;
  on_demand::value value;
  on_demand::json_type type;
  if (parser->iterate(simdjson::padded_string_view(json.data(), json.size(), json.capacity()))
          .get(document) ||
      document.at_pointer(pointer).get(value) || value.type().get(type)) {
    return false;
  }
  std::string_view text = value.raw_json_token();
  if (type == on_demand::json_type::number) return CanonicalDecimal(text, scalar);
  if (type != on_demand::json_type::string || value.get_string().get(text)) return false;
  return scalar->assign(text), true;
}

bool FindInTree(simdjson::dom::parser* parser, const std::string& json, const char* pointer,
                std::string* scalar) {
  simdjson::dom::element value;
  if (parser->parse(json.data(), json.size(), false).at_pointer(pointer).get(value)) return false;
  std::string_view text;
  if (value.get(text) == simdjson::SUCCESS) return scalar->assign(text), true;
  return CanonicalDecimal(simdjson::minify(value), scalar);
}

// Memory that a call takes at its peak, beyond what was taken before.
long PeakMebibytes(const std::function<void()>& call) {
  const auto peak = [] {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;) {
      if (word == "VmHWM:" && status >> word) return std::stol(word);
    }
    return 0L;
  };
  std::ofstream("/proc/self/clear_refs") << 5;
  const long before = peak();
  call();
  return (peak() - before) >> 10;
}

int Json() {
  struct Way {
    const char* name;
    std::function<bool(const std::string& json, const char* pointer, std::string* scalar)> find;
  };
  on_demand::parser lazy;
  simdjson::dom::parser tree;
  const std::vector<Way> ways = {
      {"house",
       [](const std::string& json, const char* pointer, std::string* scalar) {
         return JsonPointer::Parse(pointer)->Find(json, scalar);
       }},
      {"on demand",
       [&](const std::string& json, const char* pointer, std::string* scalar) {
         return FindOnDemand(&lazy, json, pointer, scalar);
       }},
      {"tree", [&](const std::string& json, const char* pointer, std::string* scalar) {
         return FindInTree(&tree, json, pointer, scalar);
       }}};
  for (std::string json :
       {R"({"a":1.50})", R"({"a":12345678901234567890123})", R"({"a":1e400})",
        R"({"b":1e400,"a":2})", R"({"a":0.10000000000000000000001})", R"({"a":1,"a":2})",
        R"({"a":1,"b":tru})", R"({"a":1,"b":01})", R"({"a":1,"b":"\q"})"}) {
    std::printf("%-34s", json.c_str());
    json.reserve(json.size() + simdjson::SIMDJSON_PADDING);
    for (const Way& way : ways) {
      std::string scalar;
      const bool found = way.find(json, "/a", &scalar);
      std::printf(" %s: %s;", way.name, found ? scalar.c_str() : "NULL");
    }
    std::printf("\n");
  }
  std::string row =
      R"({"id": 123456, "customer": {"id": "C-0012345", "name": "A. Name", "tags": ["x", "y"]},)"
      R"( "amount": 12.50, "items": [{"sku": "ABC-1", "n": 3}, {"sku": "ABC-2", "n": 1}], "note":)"
      R"( "some words that nobody reads, but that take room in each of the rows"})";
  std::string ones = "[1";
  while (ones.size() < 16 << 20) ones += ",1";
  ones += "]";
  for (std::string* json : {&row, &ones}) json->reserve(json->size() + simdjson::SIMDJSON_PADDING);
  for (const Way& way : ways) {
    constexpr int kRows = 200'000;
    std::string scalar;
    const double begin = Seconds();
    for (int i = 0; i < kRows; i++) Require(way.find(row, "/customer/id", &scalar), "no scalar");
    std::printf("%s: %.2f us for a row of %zu bytes; %ld MiB for one of 16 MiB\n", way.name,
                (Seconds() - begin) / kRows * 1e6, row.size(),
                PeakMebibytes([&] { way.find(ones, "/0", &scalar); }));
  }
  return 0;
}
#else
int Json() {
  std::fputs("libraries: built without simdjson: install libsimdjson-dev, build again\n", stderr);
  return 2;
}
#endif

int Main(const std::vector<std::string>& words) {
  if (words.size() == 4 && words[0] == "sort") {
    return Sort(words[1], std::stoull(words[2]), std::stoull(words[3]));
  }
  if (words == std::vector<std::string>{"messages"}) return Messages();
  if (words == std::vector<std::string>{"json"}) return Json();
  std::fputs("libraries: sort house|rocksdb ROWS MIB; messages; json\n", stderr);
  return 2;
}

}  // namespace
}  // namespace rocksieve::join

int main(int argc, char** argv) {
  return rocksieve::join::Main(std::vector<std::string>(argv + 1, argv + argc));
}
