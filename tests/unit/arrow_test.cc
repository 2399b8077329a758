// SPDX-License-Identifier: Apache-2.0
// Columns of keys by Arrow's C data interface: every layout beside the keys that were put into it,
// parts of columns, and arrays that lie. What is given to consumers is released once.
#include "lib/arrow/key_column.h"

#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/arrow/export.h"

namespace rocksieve::arrow {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

using Keys = std::vector<std::optional<std::string>>;

template <typename Struct>
struct Released : Struct {
  Released() : Struct{} {}
  Released(const Released&) = delete;
  ~Released() {
    if (this->release != nullptr) this->release(this);
  }
};

// Buffers of each layout, as the specification says.
struct Parts {
  std::vector<uint8_t> validity;
  std::vector<std::vector<char>> buffers;
  Column column;
};

template <typename Type>
void Put(Type value, std::vector<char>* into) {
  const auto* const bytes = reinterpret_cast<const char*>(&value);
  into->insert(into->end(), bytes, bytes + sizeof value);
}

template <typename Offset>
void PutOffsets(const Keys& keys, Parts* parts) {
  std::vector<char> offsets, data;
  Put(Offset{0}, &offsets);
  for (const auto& key : keys) {
    if (key.has_value()) data.insert(data.end(), key->begin(), key->end());
    Put(static_cast<Offset>(data.size()), &offsets);
  }
  parts->buffers = {std::move(offsets), std::move(data)};
}

// Long values in two blocks, in turns.
void PutViews(const Keys& keys, Parts* parts) {
  std::vector<char> views, blocks[2], sizes;
  for (size_t i = 0; i < keys.size(); i++) {
    const std::string key = keys[i].value_or("");
    Put(static_cast<int32_t>(key.size()), &views);
    if (key.size() <= 12) {
      const std::string padded = key + std::string(12 - key.size(), '\0');
      views.insert(views.end(), padded.begin(), padded.end());
    } else {
      std::vector<char>& block = blocks[i % 2];
      views.insert(views.end(), key.begin(), key.begin() + 4);
      Put(static_cast<int32_t>(i % 2), &views);
      Put(static_cast<int32_t>(block.size()), &views);
      block.insert(block.end(), key.begin(), key.end());
    }
  }
  for (const auto& block : blocks) Put(static_cast<int64_t>(block.size()), &sizes);
  parts->buffers = {views, blocks[0], blocks[1], sizes};
}

std::shared_ptr<Parts> PartsOf(const std::string& format, const Keys& keys) {
  auto parts = std::make_shared<Parts>();
  parts->validity.assign(keys.size() / 8 + 1, 0);
  parts->column.length = static_cast<int64_t>(keys.size());
  for (size_t i = 0; i < keys.size(); i++) {
    parts->column.null_count += !keys[i].has_value();
    if (keys[i].has_value()) parts->validity[i / 8] |= static_cast<uint8_t>(1 << i % 8);
  }
  if (format == "z" || format == "u") PutOffsets<int32_t>(keys, parts.get());
  if (format == "Z" || format == "U") PutOffsets<int64_t>(keys, parts.get());
  if (format[0] == 'v') PutViews(keys, parts.get());
  if (format[0] == 'w') {
    const size_t width = std::stoul(format.substr(2));
    std::vector<char> data;
    for (const auto& key : keys) {
      const std::string bytes = key.value_or(std::string(width, 'x'));
      data.insert(data.end(), bytes.begin(), bytes.end());
    }
    parts->buffers = {data};
  }
  if (format != "n") parts->column.buffers = {parts->validity.data()};
  for (const auto& buffer : parts->buffers) parts->column.buffers.push_back(buffer.data());
  return parts;
}

// Some empty, some long, a fifth null; all of one width if that is not 0.
Keys RandomKeys(size_t count, size_t width, std::mt19937* random) {
  Keys keys;
  while (keys.size() < count) {
    std::string key(width > 0 ? width : (*random)() % 3 * 7, '\0');
    for (char& byte : key) byte = static_cast<char>((*random)());
    keys.push_back((*random)() % 5 == 0 ? std::nullopt : std::optional(key));
  }
  return keys;
}

Keys Read(const ArrowSchema& schema, const ArrowArray& array, const char* column) {
  const KeyColumn keys(&schema, &array, column);
  Keys read;
  for (int64_t i = 0; i < keys.size(); i++) {
    const auto key = keys.At(i);
    read.push_back(key.has_value() ? std::optional<std::string>(*key) : std::nullopt);
  }
  return read;
}

class Layouts : public ::testing::TestWithParam<std::string> {};

TEST_P(Layouts, GivesTheKeysThatArePutIn) {
  std::mt19937 random(1);
  const std::string& format = GetParam();
  const size_t width = format[0] == 'w' ? std::stoul(format.substr(2)) : 0;
  for (const size_t count : {0, 1, 7, 8, 9, 500}) {
    const Keys keys = format == "n" ? Keys(count) : RandomKeys(count, width, &random);
    const auto parts = PartsOf(format, keys);
    Released<ArrowSchema> schema;
    Released<ArrowArray> array;
    Export({.format = format}, &schema);
    Export(parts->column, parts, &array);
    EXPECT_EQ(Read(schema, array, nullptr), keys);
    array.null_count = -1;  // not counted
    EXPECT_EQ(Read(schema, array, nullptr), keys);
    const auto skipped = static_cast<int64_t>(count / 3);
    array.offset = skipped;
    array.length -= skipped;
    EXPECT_EQ(Read(schema, array, nullptr), Keys(keys.begin() + skipped, keys.end()));
  }
}

TEST_P(Layouts, GivesThoseOfAColumn) {
  std::mt19937 random(2);
  const std::string& format = GetParam();
  const size_t width = format[0] == 'w' ? std::stoul(format.substr(2)) : 0;
  const Keys keys = format == "n" ? Keys(100) : RandomKeys(100, width, &random);
  const auto parts = PartsOf(format, keys);
  const std::vector<uint8_t> rows(13, 0xef);  // each row of which the fifth bit is 0 is null
  Released<ArrowSchema> schema;
  Released<ArrowArray> array;
  Export({.format = "+s", .children = {{.format = "l", .name = "a"}, {format, "b"}}}, &schema);
  Export({.length = 90,
          .null_count = -1,
          .buffers = {rows.data()},
          .children = {{.length = 100, .buffers = {nullptr, nullptr}}, parts->column}},
         parts, &array);
  array.offset = 10;
  Keys expected(keys.begin() + 10, keys.end());
  for (size_t i = 0; i < expected.size(); i++) {
    if ((i + 10) % 8 == 4) expected[i].reset();
  }
  EXPECT_EQ(Read(schema, array, "b"), expected);
  EXPECT_THAT([&] { Read(schema, array, nullptr); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("say which column")));
  EXPECT_THAT([&] { Read(schema, array, "c"); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("there are a, b")));
  EXPECT_THAT([&] { Read(schema, array, "a"); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("cast it to binary")));
}

INSTANTIATE_TEST_SUITE_P(Arrow, Layouts,
                         ::testing::Values("z", "u", "Z", "U", "vz", "vu", "w:1", "w:16", "n"));

TEST(KeyColumnTest, RefusesArraysThatLie) {
  const Keys keys = {"a", "some key that no view has room for", "b"};
  const auto refused = [&](const std::string& format, const auto& damage, const char* says) {
    const auto parts = PartsOf(format, keys);
    Released<ArrowSchema> schema;
    Released<ArrowArray> array;
    Export({.format = format}, &schema);
    Export(parts->column, parts, &array);
    damage(&schema, &array, parts.get());
    EXPECT_THAT([&] { Read(schema, array, nullptr); },
                ThrowsMessage<std::invalid_argument>(HasSubstr(says)))
        << format;
  };
  for (const char* const format : {"z", "Z", "vz"}) {
    refused(format, [](auto*, auto* array, auto*) { array->length = -1; }, "length");
    refused(format, [](auto*, auto* array, auto*) { array->offset = INT64_MAX; }, "offset");
    refused(format, [](auto*, auto* array, auto*) { array->n_buffers = 1; }, "buffers are missing");
    refused(format, [](auto*, auto* array, auto*) { array->buffers[1] = nullptr; },
            "buffers are missing");
  }
  refused("z", [](auto*, auto*, auto* parts) { parts->buffers[0][4] = 90; }, "offsets fall");
  refused("z", [](auto*, auto*, auto* parts) { std::memset(&parts->buffers[0][0], 0xff, 4); },
          "offsets fall");
  refused("z", [](auto*, auto* array, auto*) { array->buffers[2] = nullptr; },
          "buffers are missing");
  const auto view = [](size_t at, int32_t value) {
    return [=](auto*, auto*, auto* parts) {
      std::memcpy(&parts->buffers[0][16 + at], &value, sizeof value);
    };
  };
  refused("vz", view(0, -1), "points outside");
  refused("vz", view(0, 90), "points outside");
  refused("vz", view(8, 2), "points outside");
  refused("vz", view(8, -1), "points outside");
  refused("vz", view(12, 1), "points outside");
  refused("vz", view(12, -1), "points outside");
  refused("z", [](auto* schema, auto*, auto*) { schema->format = "w:-1"; }, "width");
  refused("z", [](auto* schema, auto*, auto*) { schema->format = "+l"; }, "cast it to binary");
  ArrowSchema of_dictionary = {};
  refused("z", [&](auto* schema, auto*, auto*) { schema->dictionary = &of_dictionary; },
          "in a dictionary");
  Released<ArrowSchema> schema;
  Released<ArrowArray> array;
  EXPECT_THROW(KeyColumn(&schema, &array, nullptr), std::invalid_argument);
  EXPECT_THROW(KeyColumn(nullptr, nullptr, nullptr), std::invalid_argument);
}

TEST(ExportTest, ReleasesWhatIsThereWhenNobodyNeedsItAnyMore) {
  auto owner = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = owner;
  const Column child{.length = 1};
  const Column column{.length = 1, .buffers = {nullptr}, .children = {child, child}};
  ArrowArray array;
  Export(column, owner, &array);
  owner.reset();
  ArrowArray moved = *array.children[1];  // as a consumer takes a child
  array.children[1]->release = nullptr;
  array.release(&array);
  EXPECT_EQ(array.release, nullptr);
  EXPECT_FALSE(watched.expired());
  moved.release(&moved);
  EXPECT_TRUE(watched.expired());

  Released<ArrowSchema> schema;
  Export({.format = "+s", .children = {{.format = "z", .name = "key", .nullable = true}}}, &schema);
  EXPECT_STREQ(schema.children[0]->name, "key");
  EXPECT_EQ(schema.children[0]->flags, ARROW_FLAG_NULLABLE);
}

}  // namespace
}  // namespace rocksieve::arrow
