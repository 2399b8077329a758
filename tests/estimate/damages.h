// What every Deserialize() owes: the same bytes again, and an error instead of a crash.
#pragma once

#include <random>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "dynamic/frame.h"
#include "support.h"

namespace rocksieve {

// Cut off, flipped, and in a good frame but with a payload that was flipped or cut: the latter may
// be readable, but then it must be written as it was read, if there is but one form of it.
template <typename T>
void ExpectReadsWellAndRefusesDamage(const T& original, FrameType type, bool one_form = true) {
  const std::string bytes = original.Serialize();
  std::string error;
  const std::optional<T> same = T::Deserialize(ExactCopy(bytes).view(), &error);
  ASSERT_TRUE(same) << error;
  EXPECT_EQ(same->Serialize(), bytes);

  const auto expect_refused = [&](std::string_view bad) {
    error.clear();
    EXPECT_FALSE(T::Deserialize(ExactCopy(bad).view(), &error));
    EXPECT_NE(error, "");
    EXPECT_FALSE(T::Deserialize(ExactCopy(bad).view(), nullptr));
  };
  std::mt19937_64 random(1);
  for (int i = 0; i < 100; i++) {
    expect_refused(bytes.substr(0, random() % bytes.size()));
    std::string flipped = bytes;
    flipped[random() % flipped.size()] ^= static_cast<char>(1 << random() % 8);
    expect_refused(flipped);
  }
  expect_refused(WriteFrame(type, "") + "x");
  const std::string payload(ReadFrame(bytes, type, &error).value());
  const auto try_payload = [&](std::string_view changed) {
    const std::string framed = WriteFrame(type, changed);
    error.clear();
    const std::optional<T> read = T::Deserialize(ExactCopy(framed).view(), &error);
    EXPECT_EQ(error.empty(), read.has_value());
    if (read) {
      EXPECT_EQ(T::Deserialize(read->Serialize(), nullptr)->Serialize(), read->Serialize());
    }
    if (read && one_form) {
      EXPECT_EQ(read->Serialize(), framed);
    }
  };
  // All of the first fields, and a sample of what follows.
  for (size_t at = 0; at < payload.size();
       at += at < 40 ? 1 : 1 + random() % (payload.size() / 64 + 1)) {
    for (const int value : {0, 1, 0x7f, 0x80, 0xff, payload[at] ^ 1}) {
      std::string changed = payload;
      changed[at] = static_cast<char>(value);
      try_payload(changed);
    }
    expect_refused(WriteFrame(type, payload.substr(0, at)));
  }
  expect_refused(WriteFrame(type, payload + '\0'));
  // Ever larger numbers in the first fields: sizes that nobody has memory for.
  for (size_t at = 0; at + 10 <= payload.size() && at < 24; at++) {
    std::string huge = payload;
    huge.replace(at, 10, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
    try_payload(huge);
    huge.replace(at, 10, std::string("\xff\xff\xff\xff\x0f\xff\xff\xff\xff\x0f", 10));
    try_payload(huge);
  }
}

}  // namespace rocksieve
