// SPDX-License-Identifier: Apache-2.0
#include "lib/cpu/isa.h"

#include <cstdio>
#include <cstdlib>

namespace rocksieve {
namespace {

constexpr Isa kAll[] = {Isa::kPortable, Isa::kSse2, Isa::kAvx2, Isa::kAvx512, Isa::kNeon};
constexpr std::string_view kNames[] = {"portable", "sse2", "avx2", "avx512", "neon"};

bool Usable(Isa isa) {
  if (isa == Isa::kPortable) return true;
#if defined(__x86_64__)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                    __builtin_cpu_supports("bmi2");
  if (isa != Isa::kAvx512) return isa == Isa::kSse2 || (isa == Isa::kAvx2 && avx2);
  return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vpopcntdq") && __builtin_cpu_supports("avx512vbmi") &&
         __builtin_cpu_supports("avx512bitalg");
#elif defined(__aarch64__)
  return isa == Isa::kNeon;
#else
  return false;
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

std::string_view IsaName(Isa isa) { return kNames[static_cast<size_t>(isa)]; }

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

#if defined(__x86_64__)
bool CpuHasVbmi2() { return __builtin_cpu_supports("avx512vbmi2"); }
bool CpuHasVpclmulqdq() { return __builtin_cpu_supports("vpclmulqdq"); }
bool CpuHasGfni() { return __builtin_cpu_supports("gfni"); }
#endif

}  // namespace rocksieve
