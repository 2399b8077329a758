// SPDX-License-Identifier: Apache-2.0
#include "lib/cpu/isa.h"

#include <cstdio>
#include <cstdlib>

namespace rocksieve {
namespace {

constexpr Isa kAll[] = {Isa::kPortable, Isa::kSse2, Isa::kAvx2, Isa::kAvx512, Isa::kNeon};

bool Usable(Isa isa) {
#if defined(__x86_64__)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                    __builtin_cpu_supports("bmi2");
  switch (isa) {
    case Isa::kPortable:
    case Isa::kSse2:
      return true;
    case Isa::kAvx2:
      return avx2;
    case Isa::kAvx512:
      return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512vpopcntdq") && __builtin_cpu_supports("avx512vbmi") &&
             __builtin_cpu_supports("avx512bitalg");
    case Isa::kNeon:
      return false;
  }
  return false;
#elif defined(__aarch64__)
  return isa == Isa::kPortable || isa == Isa::kNeon;
#else
  return isa == Isa::kPortable;
#endif
}

Isa Choose() {
  const std::vector<Isa> usable = UsableIsas();
  const char* wanted = std::getenv("ROCKSIEVE_ISA");
  if (wanted == nullptr || *wanted == '\0') return usable.back();
  for (Isa isa : usable) {
    if (IsaName(isa) == wanted) return isa;
  }
  std::fprintf(stderr, "rocksieve: ROCKSIEVE_ISA=%s cannot be had on this machine; using %s\n",
               wanted, IsaName(usable.back()).data());
  return usable.back();
}

}  // namespace

std::string_view IsaName(Isa isa) {
  switch (isa) {
    case Isa::kPortable:
      return "portable";
    case Isa::kSse2:
      return "sse2";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
    case Isa::kNeon:
      return "neon";
  }
  return "";
}

std::vector<Isa> UsableIsas() {
  std::vector<Isa> usable;
  for (Isa isa : kAll) {
    if (Usable(isa)) usable.push_back(isa);
  }
  return usable;
}

Isa ActiveIsa() {
  static const Isa isa = Choose();
  return isa;
}

bool CpuHasVbmi2() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512vbmi2");
#else
  return false;
#endif
}

bool CpuHasVpclmulqdq() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("vpclmulqdq");
#else
  return false;
#endif
}

bool CpuHasGfni() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("gfni");
#else
  return false;
#endif
}

}  // namespace rocksieve
