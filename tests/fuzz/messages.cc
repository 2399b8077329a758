// SPDX-License-Identifier: Apache-2.0
// A message of the join from the other side. The first byte chooses whether its check is made
// right, so that changed fields get in.
//
// Oracle: what is decoded is encoded to bytes that decode to the same again.
#include "lib/join/session/messages.h"

#include "tests/fuzz/target.h"
#include "lib/format/byte_io.h"
#include "lib/hash/key_hash.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rocksieve;
  fuzz::Choices choices(data, size);
  const bool right = choices.Flag();
  std::string bytes(choices.Rest());
  if (right) ByteWriter(&bytes).U32(static_cast<uint32_t>(HashKey(bytes, 0)));
  const fuzz::ExactCopy copy(bytes);
  const absl::StatusOr<join::Message> message = join::Decode(copy.view());
  if (!message.ok()) {
    FUZZ_CHECK(!message.status().message().empty());
    return 0;
  }
  const std::string encoded = join::Encode(*message);
  const absl::StatusOr<join::Message> again = join::Decode(encoded);
  FUZZ_CHECK(again.ok() && again->index() == message->index());
  FUZZ_CHECK(join::Encode(*again) == encoded);
  // The least rates and long failures are read as others, all else has one form.
  const bool one_form = !std::holds_alternative<join::Failure>(*message) &&
                        !std::holds_alternative<join::Hello>(*message) &&
                        !std::holds_alternative<join::HelloAnswer>(*message);
  FUZZ_CHECK(!one_form || encoded == bytes);
  return 0;
}
