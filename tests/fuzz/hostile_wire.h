// SPDX-License-Identifier: Apache-2.0
// What becomes of one side's honest messages on their way to the side that is tested, by a program
// in the input: passed, lost, repeated, held back, replaced by earlier ones, changed in a byte, a
// field or a part of a turn, or joined by messages that nobody sent; with checks made right, so
// that the changes get in, or not.
#pragma once

#include <string>
#include <vector>

#include "tests/fuzz/target.h"
#include "lib/join/session/messages.h"

namespace rocksieve::fuzz {

class HostileWire {
 public:
  // At its end, messages pass as they are. `choices` must outlive it.
  explicit HostileWire(Choices* choices) : choices_(choices) {}

  // What arrives in the place of a message.
  std::vector<std::string> Deliver(const std::string& message);
  // What arrives though nothing was sent: held back or made up. Empty if there is no more.
  std::vector<std::string> DeliverMore();

 private:
  std::string MadeUp();
  std::string Earlier();
  std::string WithOtherBytes(std::string message);
  std::string WithOtherField(const std::string& message);
  std::string WithOtherPart(const std::string& step);
  std::string WithOtherBody(std::string_view body);
  uint64_t AnyNumber();

  Choices* const choices_;
  std::vector<std::string> sent_, held_;
};

// The bytes with a right check instead of the last four.
std::string WithRightCheck(std::string message);

}  // namespace rocksieve::fuzz
