// SPDX-License-Identifier: Apache-2.0
// Estimators for C, in librocksieve_filters.so.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <variant>

#include <rocksieve/c.h>
#include <rocksieve/estimate/count_min_sketch.h>
#include <rocksieve/estimate/hyper_log_log.h>
#include <rocksieve/estimate/k_minimum_values.h>
#include <rocksieve/estimate/min_hash.h>
#include <rocksieve/estimate/top_k.h>

#include "lib/c_api/errors.h"

namespace rocksieve {
namespace {

using AnyEstimator = std::variant<HyperLogLog, KMinimumValues, CountMinSketch, TopK, MinHash>;
constexpr KindNames<5> kEstimatorKinds = {"hyper-log-log", "k-minimum-values", "count-min-sketch",
                                          "top-k", "min-hash"};
constexpr double kCountMinFailure = 0.01;

// Sources: rocksieve/estimate/top_k.h, whose error is at most all / counters.
TopKOptions TopKOptionsForError(double error) {
  constexpr double kMostCounters = 2147483648.0;  // 2^31
  // Written so that NaN is refused too.
  if (!(error > 0 && error < 1 && 1 / error <= kMostCounters)) {
    char text[128];
    std::snprintf(text, sizeof(text),
                  "top-k: the error is %g, but must be from 2^-31 and below 1, such as 0.001",
                  error);
    throw std::invalid_argument(text);
  }
  TopKOptions options;
  options.counters = static_cast<uint64_t>(std::ceil(1 / error));
  return options;
}

AnyEstimator MakeEstimator(size_t kind, double error, uint64_t seed) {
  switch (kind) {
    case 0:
      return HyperLogLog(WithSeed(HyperLogLogOptions::ForError(error), seed));
    case 1:
      return KMinimumValues(WithSeed(KMinimumValuesOptions::ForError(error), seed));
    case 2:
      return CountMinSketch(WithSeed(CountMinOptions::ForError(error, kCountMinFailure), seed));
    case 3:
      return TopK(WithSeed(TopKOptionsForError(error), seed));
    default:
      return MinHash(WithSeed(MinHashOptions::ForError(error), seed));
  }
}

}  // namespace
}  // namespace rocksieve

struct rocksieve_estimator_t {
  rocksieve::AnyEstimator estimator;
  const char* kind() const { return rocksieve::kEstimatorKinds[estimator.index()]; }
};

namespace rocksieve {
namespace {

// What an estimator of this kind cannot tell, and which ones can.
unsigned char CannotTell(const rocksieve_estimator_t* estimator, const char* what,
                         const char* which, char** error) {
  return FailForC(
      std::string("a ") + estimator->kind() + " does not know " + what + "; take " + which, error);
}

unsigned char Give(const Estimate& from, rocksieve_estimate_t* to) {
  *to = {from.value, from.standard_error};
  return 1;
}

bool HasEstimator(const void* estimator, const void* result, char** error) {
  if (estimator != nullptr && result != nullptr) return true;
  SetCError(estimator == nullptr ? "there is no estimator" : "there is no place for the result",
            error);
  return false;
}

bool HasKey(const char* key, size_t length, char** error) {
  if (key != nullptr || length == 0) return true;
  SetCError("there is no key", error);
  return false;
}

// What `tell` returns of the estimator as its kind; 0, and an error, if there is none, or no place
// for the result, or this throws.
template <typename Object, typename Tell>
unsigned char Ask(Object* object, const void* result, char** error, const Tell& tell) {
  if (!HasEstimator(object, result, error)) return 0;
  return WithoutThrowing<unsigned char>(0, error,
                                        [&] { return std::visit(tell, object->estimator); });
}

// The other one, if it is of the same kind.
template <typename Estimator>
const Estimator& SameKind(const Estimator&, const rocksieve_estimator_t* other) {
  const Estimator* const same = std::get_if<Estimator>(&other->estimator);
  if (same == nullptr) {
    throw std::invalid_argument(std::string("the other one is a ") + other->kind() +
                                ": both must be of one kind");
  }
  return *same;
}

}  // namespace
}  // namespace rocksieve

rocksieve_estimator_t* rocksieve_estimator_create(const char* kind, double error, uint64_t seed,
                                                  char** error_text) {
  return rocksieve::WithoutThrowing<rocksieve_estimator_t*>(nullptr, error_text, [&] {
    return new rocksieve_estimator_t{
        rocksieve::MakeEstimator(rocksieve::KindOf(kind, rocksieve::kEstimatorKinds), error, seed)};
  });
}

const char* rocksieve_estimator_kind(const rocksieve_estimator_t* estimator) {
  return estimator == nullptr ? "" : estimator->kind();
}

unsigned char rocksieve_estimator_add(rocksieve_estimator_t* estimator, const char* key,
                                      size_t length, uint64_t count, char** error) {
  return rocksieve::Ask(estimator, estimator, error, [&](auto& into) -> unsigned char {
    if (!rocksieve::HasKey(key, length, error)) return 0;
    if (count == 0) return 1;
    if constexpr (requires { into.Add("", count); }) {
      if (into.Add({key, length}, count)) return 1;
      return rocksieve::FailForC("the sum of all counts would exceed 2^64 - 1", error);
    } else {
      into.Add({key, length});
      return 1;
    }
  });
}

unsigned char rocksieve_estimator_distinct(const rocksieve_estimator_t* estimator,
                                           rocksieve_estimate_t* distinct, char** error) {
  return rocksieve::Ask(estimator, distinct, error, [&](const auto& from) {
    if constexpr (requires { from.DistinctCount(); }) {
      return rocksieve::Give(from.DistinctCount(), distinct);
    } else {
      return rocksieve::CannotTell(estimator, "how many distinct keys there are",
                                   "hyper-log-log or k-minimum-values", error);
    }
  });
}

unsigned char rocksieve_estimator_count(const rocksieve_estimator_t* estimator, const char* key,
                                        size_t length, uint64_t* count, uint64_t* excess,
                                        char** error) {
  return rocksieve::Ask(estimator, count, error, [&](const auto& from) -> unsigned char {
    if (!rocksieve::HasKey(key, length, error)) return 0;
    if constexpr (requires { from.Count(""); }) {
      *count = from.Count({key, length});
      if (excess != nullptr) {
        const double most = from.ErrorBound();
        *excess = most < static_cast<double>(*count) ? static_cast<uint64_t>(most) : *count;
      }
      return 1;
    } else {
      return rocksieve::CannotTell(estimator, "how often a key occurred",
                                   "count-min-sketch or top-k", error);
    }
  });
}

unsigned char rocksieve_estimator_top(const rocksieve_estimator_t* estimator, size_t most,
                                      rocksieve_top_t on_key, void* state, char** error) {
  const auto* const place = reinterpret_cast<const void*>(on_key);
  return rocksieve::Ask(estimator, place, error, [&](const auto& from) -> unsigned char {
    if constexpr (requires { from.Top(most); }) {
      for (const rocksieve::TopK::Item& item : from.Top(most)) {
        on_key(state, item.key.data(), item.key.size(), item.count, item.error);
      }
      return 1;
    } else {
      return rocksieve::CannotTell(estimator, "which keys are the most frequent", "top-k", error);
    }
  });
}

unsigned char rocksieve_estimator_similarity(const rocksieve_estimator_t* a,
                                             const rocksieve_estimator_t* b,
                                             rocksieve_estimate_t* jaccard, char** error) {
  return rocksieve::Ask(a, jaccard, error, [&](const auto& from) -> unsigned char {
    if (!rocksieve::HasEstimator(b, b, error)) return 0;
    if constexpr (requires { from.Overlap(from, from); }) {
      return rocksieve::Give(from.Overlap(from, rocksieve::SameKind(from, b)).jaccard, jaccard);
    } else if constexpr (requires { from.Jaccard(from, from); }) {
      return rocksieve::Give(from.Jaccard(from, rocksieve::SameKind(from, b)), jaccard);
    } else {
      return rocksieve::CannotTell(a, "what two sets share", "min-hash or k-minimum-values", error);
    }
  });
}

unsigned char rocksieve_estimator_intersection(const rocksieve_estimator_t* a,
                                               const rocksieve_estimator_t* b,
                                               rocksieve_estimate_t* both, char** error) {
  return rocksieve::Ask(a, both, error, [&](const auto& from) -> unsigned char {
    if (!rocksieve::HasEstimator(b, b, error)) return 0;
    if constexpr (requires { from.Overlap(from, from); }) {
      return rocksieve::Give(from.Overlap(from, rocksieve::SameKind(from, b)).both, both);
    } else {
      return rocksieve::CannotTell(a, "how many keys two sets share", "k-minimum-values", error);
    }
  });
}

unsigned char rocksieve_estimator_merge(rocksieve_estimator_t* estimator,
                                        const rocksieve_estimator_t* other, char** error) {
  return rocksieve::Ask(estimator, estimator, error, [&](auto& into) -> unsigned char {
    if (!rocksieve::HasEstimator(other, other, error)) return 0;
    if (rocksieve::MergeFrom(rocksieve::SameKind(into, other), &into)) return 1;
    return rocksieve::FailForC(
        "estimators merge only if error (but of k-minimum-values) and seed are those of each "
        "other, and the sum of all counts is below 2^64",
        error);
  });
}

size_t rocksieve_estimator_memory_bytes(const rocksieve_estimator_t* estimator) {
  if (estimator == nullptr) return 0;
  return rocksieve::MemoryBytesOf(estimator->estimator);
}

char* rocksieve_estimator_serialize(const rocksieve_estimator_t* estimator, size_t* size,
                                    char** error) {
  if (!rocksieve::HasEstimator(estimator, size, error)) return nullptr;
  return rocksieve::SerializeForC(estimator->estimator, size, error);
}

rocksieve_estimator_t* rocksieve_estimator_deserialize(const char* bytes, size_t size,
                                                       char** error) {
  return rocksieve::WithoutThrowing<rocksieve_estimator_t*>(nullptr, error, [&] {
    return new rocksieve_estimator_t{rocksieve::ReadKind<rocksieve::AnyEstimator>(
        {bytes, bytes == nullptr ? 0 : size}, rocksieve::kEstimatorKinds)};
  });
}

void rocksieve_estimator_destroy(rocksieve_estimator_t* estimator) { delete estimator; }
