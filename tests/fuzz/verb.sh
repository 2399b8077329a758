#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The verb fuzz of ./run, which sources this and has need_build(), need() and build().

# Runs one target on its corpus and what earlier runs added to that.
fuzz_target() {
  local target=$1 seconds=$2 crashes=build/fuzz/crashes log=build/fuzz/$1.log
  mkdir -p "build/fuzz/corpus/$target" "$crashes"
  tests/fuzz/make_seeds.py unpack "$target" "build/fuzz/corpus/$target"
  local words=build/fuzz/$target.words dictionary=()
  awk -v target="$target" '/^# /{on = index($0 " ", " " target " ")} on && !/^#/' \
    tests/fuzz/dictionary >"$words"
  if [ -s "$words" ]; then dictionary=("-dict=$words"); fi
  # Numbers that are believed show as memory or time.
  if "build/fuzz/bin/fuzz_$target" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 \
    -malloc_limit_mb=1024 -max_len=16384 -print_final_stats=1 "${dictionary[@]}" \
    -artifact_prefix="$crashes/$target-" "build/fuzz/corpus/$target" >"$log" 2>&1; then
    local runs covered
    runs=$(sed -nE 's/^stat::number_of_executed_units: +([0-9]+)/\1/p' "$log")
    covered=$(sed -nE 's/.* cov: ([0-9]+) .*/\1/p' "$log" | tail -n 1)
    echo "$target: $runs inputs in $seconds s, $covered places reached, no finding"
  else
    grep -E 'does not hold|bytes more than|ERROR|runtime error|SUMMARY' "$log" | head -n 5 || true
    local input
    input=$(sed -nE 's/.*Test unit written to (.*)/\1/p' "$log" | tail -n 1)
    echo "$target: FOUND, see $log; to repeat: build/fuzz/bin/fuzz_$target ${input:-}"
    return 1
  fi
}

fuzz_verb() {
  local seconds=60 jobs=1 minimize='' targets=() argument target failed=0
  for argument in "$@"; do
    case $argument in
      --time=*) seconds=${argument#*=} ;;
      --jobs=*) jobs=${argument#*=} ;;
      --minimize) minimize=yes ;;
      -*) echo "run: fuzz does not know $argument" >&2; exit 2 ;;
      *) targets+=("$argument") ;;
    esac
  done
  case $seconds$jobs in
    *[!0-9]*) echo "run: --time and --jobs take whole numbers" >&2; exit 2 ;;
  esac
  need_build
  # The sanitizers' and libFuzzer's runtime is a package of the version that clang is.
  need clang
  need "libclang-rt-$(clang --version | sed -nE 's/.*version ([0-9]+)\..*/\1/p' | head -n 1)-dev"
  # shellcheck disable=SC2034  # build() reads it
  build_target=fuzz_targets
  build build/fuzz -DCMAKE_CXX_COMPILER=clang++ -DROCKSIEVE_FUZZ=ON \
    -DROCKSIEVE_SANITIZE=fuzzer-no-link,address,undefined -DROCKSIEVE_TRANSPORT=OFF \
    -DROCKSIEVE_TESTS=OFF -DROCKSIEVE_BENCH=OFF
  if [ ${#targets[@]} -eq 0 ]; then
    for target in build/fuzz/bin/fuzz_*; do targets+=("${target##*/fuzz_}"); done
  fi
  for target in "${targets[@]}"; do
    if [ ! -x "build/fuzz/bin/fuzz_$target" ]; then
      echo "run: there is no fuzz target $target; there are:" build/fuzz/bin/fuzz_* >&2
      exit 2
    fi
  done
  export -f fuzz_target
  printf '%s\n' "${targets[@]}" |
    xargs -P "$jobs" -I '{}' bash -c 'fuzz_target "$@"' fuzz '{}' "$seconds" || failed=1
  if [ -n "$minimize" ]; then
    for target in "${targets[@]}"; do
      rm -rf "build/fuzz/minimized/$target"
      tests/fuzz/make_seeds.py unpack "$target" "build/fuzz/minimized/$target"
      "build/fuzz/bin/fuzz_$target" -merge=1 -timeout=20 -rss_limit_mb=2048 \
        "build/fuzz/minimized/$target" "build/fuzz/corpus/$target" \
        >"build/fuzz/$target.merge.log" 2>&1
      tests/fuzz/make_seeds.py add "$target" "build/fuzz/minimized/$target"
    done
  fi
  return $failed
}
