// SPDX-License-Identifier: Apache-2.0
// join_parts: what the building blocks of the join cost, in nanoseconds per key and bytes on the
// wire, on two sets of random hashes. Usage: join_parts [KEYS], 1,000,000 by default. One thread.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <string>
#include <vector>

#include "lib/format/bit_coder.h"
#include "lib/hash/key_hash128.h"
#include "lib/sketch/difference_estimator.h"
#include "lib/sketch/pinsketch/algebra.h"
#include "lib/sketch/pinsketch/partitioned_pinsketch.h"
#include "lib/sketch/rateless_iblt.h"
#include "lib/sketch/set_sum.h"

namespace rocksieve::bench {
namespace {

// CPU time, for a busy machine must not look like slow code.
class Stopwatch {
 public:
  double Nanoseconds() const {
    return static_cast<double>(std::clock() - start_) * (1e9 / CLOCKS_PER_SEC);
  }

 private:
  std::clock_t start_ = std::clock();
};

struct Sides {
  PageVector<uint64_t> a, b;
};

// `keys` on each side, of which differences / 2 are not on the other.
Sides RandomSides(size_t keys, size_t differences, uint64_t seed) {
  std::mt19937_64 random(seed);
  Sides sides;
  for (size_t i = 0; i < keys; i++) sides.a.push_back(random());
  sides.b = sides.a;
  for (size_t i = 0; i < differences / 2; i++) sides.b[i] = random();
  return sides;
}

void Row(const char* what, double sender_ns, double receiver_ns, size_t bytes, double per,
         const char* unit) {
  std::printf("%-44s %8.1f %8.1f %10zu   %8.3f %s\n", what, sender_ns, receiver_ns, bytes,
              static_cast<double>(bytes) / per, unit);
}

void Hashes(size_t keys) {
  std::mt19937_64 random(1);
  std::vector<std::string> names(std::min<size_t>(keys, 100000), std::string(16, ' '));
  for (std::string& name : names) {
    for (char& byte : name) byte = static_cast<char>(random());
  }
  const double n = static_cast<double>(names.size());
  Stopwatch hashing;
  std::vector<KeyHash128> hashes;
  for (const std::string& name : names) hashes.push_back(HashKey128(name, 5));
  Row("128-bit hash of a 16-byte key", hashing.Nanoseconds() / n, 0, 0, 1, "");
  Stopwatch step;
  uint64_t all = 0;
  for (const KeyHash128& hash : hashes) all ^= HashForStep(hash, 17);
  Row(all ? "hash for a step" : "", step.Nanoseconds() / n, 0, 0, 1, "");
  Stopwatch adding;
  SetSum sum;
  const SetSummer summer(7);
  for (const KeyHash128& hash : hashes) summer.Add(hash, &sum);
  std::string message;
  ByteWriter out(&message);
  sum.Write(&out);
  Row("set sum", adding.Nanoseconds() / n, 0, message.size(), 1, "bytes");
}

void Codes(size_t keys) {
  const double n = static_cast<double>(keys);
  std::mt19937_64 random(2);
  PageVector<uint8_t> flags(keys);
  for (uint8_t& flag : flags) flag = random() % 10 == 0;
  std::string message;
  ByteWriter out(&message);
  Stopwatch encoding;
  EncodeFlags(flags, &out);
  const double encode_ns = encoding.Nanoseconds() / n;
  ByteReader in(message);
  Stopwatch decoding;
  DecodeFlags(&in, keys, &flags);
  Row("flags, one in ten", encode_ns, decoding.Nanoseconds() / n, message.size(), n / 8,
      "bits/flag");
  std::vector<uint64_t> values(keys);
  for (uint64_t& value : values) value = random() % (keys << 7);
  std::sort(values.begin(), values.end());
  message.clear();
  Stopwatch sorted_encoding;
  EncodeSorted(values, {}, 0, &out);
  const double sorted_ns = sorted_encoding.Nanoseconds() / n;
  ByteReader sorted_in(message);
  SortedValues decoded;
  Stopwatch sorted_decoding;
  DecodeSorted(&sorted_in, keys << 7, 0, keys, &decoded);
  Row("sorted numbers, Golomb, mean gap 2^7", sorted_ns, sorted_decoding.Nanoseconds() / n,
      message.size(), n / 8, "bits/number");
}

void Estimator(size_t keys, size_t differences) {
  const Sides sides = RandomSides(keys, differences, 3);
  DifferenceEstimator a(512), b(512);
  Stopwatch adding;
  a.Add(sides.a);
  const double ns = adding.Nanoseconds() / static_cast<double>(keys);
  b.Add(sides.b);
  std::string message;
  ByteWriter out(&message);
  a.Write(a.SufficientWidth(), &out);
  const DifferenceEstimate estimate = DifferenceEstimator::Estimate(a, b);
  char what[80];
  std::snprintf(what, sizeof(what), "difference estimator: %.0f +- %.0f of %zu",
                estimate.differences, estimate.standard_error, differences);
  Row(what, ns, 0, message.size(), 1, "bytes");
}

void Rateless(size_t keys, size_t differences) {
  const Sides sides = RandomSides(keys, differences, 4);
  const double n = static_cast<double>(keys);
  const RatelessFormat format;
  Stopwatch making;
  RatelessEncoder encoder(sides.a, format);
  double sender_ns = making.Nanoseconds() / n;
  Stopwatch making_decoder;
  RatelessDecoder decoder(sides.b, format, 100000000);
  double receiver_ns = making_decoder.Nanoseconds() / n;
  std::vector<RatelessCell> cells;
  size_t bytes = 0;
  size_t batch = 1 + static_cast<size_t>(1.37 * static_cast<double>(differences));
  while (!decoder.done()) {
    std::string message;
    ByteWriter out(&message);
    Stopwatch encoding;
    const size_t begin = cells.size();
    encoder.ExtendTo(begin + batch, &cells);
    WriteCells(cells, begin, format, &out);
    sender_ns += encoding.Nanoseconds() / n;
    bytes += message.size();
    ByteReader in(message);
    Stopwatch decoding;
    if (!decoder.Consume(&in)) std::abort();
    receiver_ns += decoding.Nanoseconds() / n;
    batch = 1 + differences / 100;
  }
  if (decoder.Difference().only_local.size() != differences / 2) std::abort();
  char what[80];
  std::snprintf(what, sizeof(what), "rateless, %zu differences", differences);
  Row(what, sender_ns, receiver_ns, bytes, static_cast<double>(differences), "bytes/difference");
}

void PinSketch(size_t keys, size_t differences, double estimate_error) {
  const Sides sides = RandomSides(keys, differences, 5);
  const double n = static_cast<double>(keys), d = static_cast<double>(differences);
  const pinsketch::Plan plan = pinsketch::MakePlan(n, d * estimate_error, 5);
  pinsketch::Field::OfBits(plan.field_bits);
  std::string message;
  ByteWriter out(&message);
  Stopwatch encoding;
  plan.Write(&out);
  pinsketch::PartitionedEncoder encoder(plan, sides.a);
  encoder.WriteSketch(&out);
  const double sender_ns = encoding.Nanoseconds() / n;
  size_t bytes = message.size();
  ByteReader in(message);
  pinsketch::Plan received;
  received.Read(&in);
  Stopwatch decoding;
  pinsketch::PartitionedDecoder decoder(received, sides.b);
  decoder.ReadSketch(&in);
  double receiver_ns = decoding.Nanoseconds() / n;
  int requests = 0;
  for (; decoder.WantsMore(); requests++) {
    std::string request, answer;
    ByteWriter request_out(&request), answer_out(&answer);
    decoder.WriteRequest(&request_out);
    ByteReader request_in(request);
    encoder.AnswerRequest(&request_in, UINT64_MAX, &answer_out);
    ByteReader answer_in(answer);
    Stopwatch more;
    decoder.ReadMore(&answer_in);
    receiver_ns += more.Nanoseconds() / n;
    bytes += request.size() + answer.size();
  }
  char what[80];
  std::snprintf(what, sizeof(what), "PinSketch%s, %zu, k %d, %.1f a group, est. %.2f, +%d",
                decoder.all_known() ? "" : " (NOT ALL)", differences, plan.field_bits,
                d / plan.groups, estimate_error, requests);
  Row(what, sender_ns, receiver_ns, bytes, d, "bytes/difference");
}

}  // namespace
}  // namespace rocksieve::bench

int main(int argc, char** argv) {
  using namespace rocksieve::bench;
  const size_t keys = argc > 1 ? static_cast<size_t>(std::atoll(argv[1])) : 1000000;
  if (keys < 1000) {
    std::fprintf(stderr, "join_parts: KEYS must be at least 1000\n");
    return 2;
  }
  std::printf("%zu keys a side, ns per key\n%-44s %8s %8s %10s\n", keys, "", "sender", "receiver",
              "bytes");
  Hashes(keys);
  Codes(keys);
  for (size_t differences : {keys / 1000, keys / 50, keys / 5}) {
    Estimator(keys, differences);
    Rateless(keys, differences);
    for (double error : {0.8, 1.0, 1.08}) PinSketch(keys, differences, error);
  }
  PinSketch(keys, keys, 1.08);
}
