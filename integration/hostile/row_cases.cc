// Servers that send rows of which they said nothing.
#include <memory>

#include "integration/hostile/bodies.h"
#include "integration/hostile/server_cases.h"

namespace rocksieve::join {
namespace {

// A row of the key before it.
std::string AnotherRow(size_t value_bytes) {
  std::string raw;
  ByteWriter out(&raw);
  out.Varint(2 * uint64_t{value_bytes});
  out.Bytes(std::string(value_bytes, 0));
  return raw;
}

// After the first rows of the honest server, `batches` without end.
void RowsForever(const Victim& victim, const std::vector<std::string>& batches) {
  auto first = std::make_shared<std::optional<Rows>>();
  auto next = std::make_shared<size_t>(0);
  const auto begin = [first](const Rows& rows) -> std::optional<Bytes> {
    if (*first) return Bytes();
    *first = rows;
    (*first)->last = false;
    return Bytes{Encode(**first)};
  };
  std::vector<std::string> batch = batches;
  const auto forever = [first, next, batch]() -> std::string {
    if (!*first) return "";
    Rows rows = **first;
    rows.batch = batch[std::min((*next)++, batch.size() - 1)];
    return Encode(rows);
  };
  Lie(victim, {Only<Rows>(begin), {}, forever});
}

// Many small rows that hardly take a byte each.
void SmallRows(const Victim& victim) { RowsForever(victim, {BatchOf(std::string(128 << 10, 0))}); }

void RowsOfOneKey(const Victim& victim) {
  std::string raw;
  while (raw.size() < 120'000) raw += AnotherRow(1000);
  RowsForever(victim, {BatchOf(raw)});
}

void RowsOfNothing(const Victim& victim) { RowsForever(victim, {BatchOf("")}); }

// One that begins, and goes on in each batch.
void RowOf(const Victim& victim, uint64_t bytes) {
  std::string head;
  ByteWriter(&head).Varint(2 * bytes);
  RowsForever(victim, {BatchOf(head), BatchOf(std::string(128 << 10, 'r'))});
}

void RowsThatUnpackToMuch(const Victim& victim) {
  RowsForever(victim, {BatchOf(std::string(300 << 20, 0))});
}

// Rising keys, far more than were announced.
void NewKeys(const Victim& victim) {
  auto number = std::make_shared<uint64_t>(0);
  auto first = std::make_shared<std::optional<Rows>>();
  Lie(victim, {Only<Rows>([first](const Rows& rows) -> std::optional<Bytes> {
                 if (*first) return Bytes();
                 *first = rows;
                 return Bytes{};
               }),
               {},
               [first, number]() -> std::string {
                 if (!*first) return "";
                 std::string raw;
                 ByteWriter out(&raw);
                 while (raw.size() < 100'000) {
                   out.Varint(2 * 200 + 1);
                   out.Varint(0);
                   std::string key(8, 0);
                   for (int i = 0; i < 8; i++) {
                     key[7 - static_cast<size_t>(i)] = static_cast<char>(*number >> (8 * i));
                   }
                   (*number)++;
                   out.String("0" + key);
                   out.Bytes(std::string(200, 'v'));
                 }
                 Rows rows = **first;
                 rows.last = false;
                 rows.batch = BatchOf(raw);
                 return Encode(rows);
               }});
}

// One row more than the database can have, of a key that is there.
void TwoRowsOfOneKey(const Victim& victim) {
  Lie(victim, {Only<Rows>([](const Rows& rows) -> std::optional<Bytes> {
                 Rows first = rows, second = rows;
                 first.last = false;
                 second.batch = BatchOf(AnotherRow(6));
                 return Bytes{Encode(first), Encode(second)};
               }),
               {},
               {}});
}

// Rows without the attribute, though whole keys are joined.
void AbsentRows(const Victim& victim) {
  auto asked = std::make_shared<bool>(false);
  Rows rows;
  rows.range = kAbsentRange;
  std::string raw;
  while (raw.size() < 120'000) raw += AnotherRow(100);
  raw[0] = static_cast<char>(raw[0] | 1);  // the first one is of a new key
  rows.batch = BatchOf(raw);
  Lie(victim, {Changing<HelloAnswer>([](HelloAnswer* answer) {
                 answer->absent = {uint64_t{1} << 40, 1, 1};
               }),
               Only<Fetch>([asked](const Fetch& fetch) -> std::optional<Bytes> {
                 if (fetch.range != kAbsentRange) return std::nullopt;
                 *asked = true;
                 return Bytes();
               }),
               [asked, bytes = Encode(rows)] { return *asked ? bytes : std::string(); }});
}

void UnaskedRows(const Victim& victim) {
  auto said = std::make_shared<bool>(false);
  Lie(victim, {Only<HelloAnswer>([said](const HelloAnswer&) -> std::optional<Bytes> {
                 *said = true;
                 return std::nullopt;
               }),
               {},
               [said] {
                 return *said ? Encode(Rows{0, 0, false, BatchOf("\x01\0\1k")}) : "";
               }});
}

}  // namespace

void AddRowCases(std::vector<ServerCase>* cases) {
  cases->push_back({"small-rows-forever", SmallRows});
  cases->push_back({"rows-of-one-key-forever", RowsOfOneKey});
  cases->push_back({"rows-of-nothing-forever", RowsOfNothing});
  cases->push_back({"row-of-200MB", [](const Victim& victim) { RowOf(victim, 200 << 20); }});
  cases->push_back(
      {"row-of-a-terabyte", [](const Victim& victim) { RowOf(victim, uint64_t{1} << 40); }});
  cases->push_back({"rows-that-unpack-to-much", RowsThatUnpackToMuch});
  cases->push_back({"new-keys-forever", NewKeys});
  cases->push_back({"two-rows-of-one-key", TwoRowsOfOneKey});
  cases->push_back({"absent-rows-forever", AbsentRows});
  cases->push_back({"unasked-rows", UnaskedRows});
}

}  // namespace rocksieve::join
