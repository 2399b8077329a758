#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# In a bare Debian, as root, in a directory with our packages, those of a later version in next/, and
# integration/consumer: installs them, uses what is in them, upgrades, removes. Ends with 0 if all of it
# was as it should be; prints what it does.
set -euo pipefail
shopt -s inherit_errexit
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
here=$PWD work=$(mktemp -d)
servers=()
trap 'kill "${servers[@]}" 2>/dev/null || true' EXIT

step() { printf '\nuse: %s\n' "$*"; }
fail() {
  echo "use: WRONG: $*"
  exit 1
}
# expect PATTERN COMMAND...: what the command prints, stderr included, has a line that matches.
expect() {
  local pattern=$1 out code=0
  shift
  out=$("$@" 2>&1) || code=$?
  [ "$code" -eq 0 ] || fail "exit code $code of $*: $out"
  grep -qE -- "$pattern" <<<"$out" || fail "no line is '$pattern' of $*: $out"
}
install() { apt-get install -y -qq --no-install-recommends "$@" >"$work/apt.log" 2>&1 || {
  cat "$work/apt.log"
  fail "apt-get install $*"
}; }
# What apt would install for these, ours left out.
needed_by() {
  apt-get install --simulate --no-install-recommends "$@" | awk '/^Inst /{print $2}' |
    grep -v rocksieve || true
}
# All files but what programs write as they run, and all users and groups.
everything() {
  find / -xdev \( -path "$here" -o -path "$work" -o -path /proc -o -path /sys -o -path /dev \
    -o -path /run -o -path /var/cache -o -path /var/log -o -path /var/lib/apt \
    -o -path /var/lib/dpkg -o -path /tmp \) -prune -o -print | sort
  cut -d: -f1 /etc/passwd /etc/group
}

packages=("$here"/*.deb)
series=$(dpkg-deb -f "$here"/librocksieve1_*.deb Provides | sed -E 's/.*rocksdb([0-9.]+).*/\1/')
apt-get update -qq

step 'the plugin needs no gRPC, and nothing but the C++ runtime'
needed=$(needed_by "$here"/librocksieve1_*.deb)
[ -z "$needed" ] || fail "librocksieve1 brings $needed"

step "what packages of programs depend on: the build for RocksDB $series"
expect "librocksieve1-rocksdb$series \(>= 1" dpkg-deb -f "$here"/rocksieve-tools_*.deb Depends
expect "librocksieve-join1-rocksdb$series \(>= 1" dpkg-deb -f "$here"/rocksieve-tools_*.deb Depends

step 'what others made: dependencies, rocksdb-tools, compilers'
# shellcheck disable=SC2046  # one word for each package
install $(needed_by "${packages[@]}") rocksdb-tools g++ cmake make pkgconf
everything >"$work/before"

step 'the plugin, preloaded by its plain name'
install "$here"/librocksieve1_*.deb
cat >"$work/OPTIONS" <<'END'
[Version]
  rocksdb_version=7.8.3
  options_file_version=1.1
[DBOptions]
  create_if_missing=true
[CFOptions "default"]
[TableOptions/BlockBasedTable "default"]
  filter_policy=rocksieve.ribbon:10
END
bench=(db_bench --db="$work/bench" --num=100000 --statistics)
LD_PRELOAD=librocksieve.so expect 'bloom.filter.useful COUNT : 9[0-9]{4}$' \
  "${bench[@]}" --options_file="$work/OPTIONS" --benchmarks=fillseq,compact,readmissing
file=$(find "$work/bench" -name '*.sst' | head -n 1)
expect 'filter policy name: rocksieve' sst_dump --file="$file" --show_properties --command=none
ROCKSIEVE_INSTEAD_OF=rocksieve.ribbon:10 LD_PRELOAD=librocksieve.so \
  expect 'rocksieve.ribbon:10 instead of RocksDB' "${bench[@]}" --db="$work/instead" \
  --bloom_bits=10 --benchmarks=fillseq

step 'the command, its pages and completion'
install "$here"/librocksieve-exporter1_*.deb
ROCKSIEVE_METRICS=$work/bench.prom LD_PRELOAD=librocksieve.so expect '' "${bench[@]}" --use_existing_db \
  --options_file="$work/OPTIONS" --benchmarks=readmissing
expect '^rocksieve_policy_info.spec="rocksieve' cat "$work/bench.prom"
install "$here"/librocksieve-join1_*.deb "$here"/rocksieve-tools_*.deb
expect '^rocksieve 1\.' rocksieve --version
expect 'ribbon' rocksieve explain --db="$work/bench"
expect '^rocksieve_db_up.* 1$' rocksieve exporter --db="$work/bench" --once
[ -s /usr/share/rocksieve/prometheus/rules.yml ] || fail 'there are no alert rules'
for page in man1/rocksieve.1 man1/rocksieve-join.1 man7/rocksieve-specs.7; do
  [ -s "/usr/share/man/$page.gz" ] || fail "there is no $page"
done
for file in bash-completion/completions/rocksieve zsh/vendor-completions/_rocksieve \
  fish/vendor_completions.d/rocksieve.fish; do
  [ -s "/usr/share/$file" ] || fail "there is no $file"
done

step 'filters and joins in Python'
install "$here"/python3-rocksieve_*.deb
cat >"$work/filters.py" <<'END'
import rocksieve, sys
rocksieve.Filter.build(str(i) for i in range(1000)).save(sys.argv[1])
seen = rocksieve.Filter.load(sys.argv[1])
print(seen.key_count, sum(str(i) in seen for i in range(1000)), "x" in seen)
words = rocksieve.Estimator("top-k", 0.01)
words.update(["a", "b", "a"])
print(words.top(1)[0].key.decode())
END
expect '^1000 1000 False$' python3 "$work/filters.py" "$work/thousand"
expect '^7$' rocksieve filter query "$work/thousand" <<<7
[ "$(seq 3 | rocksieve distinct | head -n 1)" = '3 distinct of 3 lines, exactly.' ] || fail distinct

step 'the service, which is not started'
units=/usr/lib/systemd/system
expect '^ExecStart=/usr/bin/rocksieve serve --config=/etc/rocksieve/serve.conf$' \
  cat "$units/rocksieve-serve.service"
expect '^ListenStream=' cat "$units/rocksieve-serve.socket"
expect '^db = ' cat /usr/share/rocksieve/serve.conf
# Removed, it is stopped; purged, it is no longer enabled.
expect 'deb-systemd-invoke stop .*rocksieve-serve.service' cat /var/lib/dpkg/info/rocksieve-tools.prerm
expect 'deb-systemd-helper purge .*rocksieve-serve.service' cat /var/lib/dpkg/info/rocksieve-tools.postrm

step 'a join with two servers, each with a half of the rows'
load() { seq -f 'key%07g' "$2" "$3" | rocksieve load --db="$work/$1" --spec=rocksieve.bloom:10 --input=-; }
load local 1 3000 && load first 1001 2000 && load second 2001 4000
ports=()
serve() {
  rocksieve serve --db="$work/$1" --listen=127.0.0.1:0 --insecure >"$work/$1.port" 2>"$work/$1.log" &
  servers+=($!)
  local tries
  for tries in {1..100}; do
    grep -qs listening "$work/$1.port" && break
    sleep 0.1
  done
  [ "$tries" -lt 100 ] || fail "no server: $(cat "$work/$1.log")"
  ports+=("127.0.0.1:$(sed -nE 's/.*:([0-9]+)$/\1/p' "$work/$1.port")")
}
serve first && serve second
joined() {
  rocksieve join --db="$work/local" --remote="${ports[0]},${ports[1]}" --op=count --insecure --json |
    tr -d ' \n'
}
all_counts() { [ "$(joined | grep -oE '"(matched_keys":2000|local_only_keys":1000|remote_only_keys":1000)\b' |
  sort -u | wc -l)" -eq 3 ] || fail "the join's counts: $(joined)"; }
all_counts
cat >"$work/join.py" <<'END'
import rocksieve, sys
rows = rocksieve.join("intersection", db=sys.argv[1], remote=sys.argv[2:], insecure=True)
print(len(list(rows)), *rocksieve.count(db=sys.argv[1], remote=sys.argv[2:], insecure=True)[:3])
END
expect '^2000 2000 1000 1000$' python3 "$work/join.py" "$work/local" "${ports[@]}"

step 'programs, compiled by pkg-config and by CMake'
install "$here"/librocksieve-dev_*.deb
sources=$here/integration/consumer
compiled() { # NAME COMPILER STANDARD SOURCE LIBRARY...
  # shellcheck disable=SC2046  # flags
  "$2" "-std=$3" "$sources/$4" -o "$work/$1" $(pkgconf --cflags --libs "${@:5}")
}
compiled core g++ c++17 core_program.cc rocksieve-core
compiled plugin g++ c++17 plugin_program.cc rocksieve-plugin
compiled c gcc c11 c_program.c rocksieve-plugin
compiled join g++ c++17 join_program.cc rocksieve-join
compiled exporter g++ c++17 exporter_program.cc rocksieve-exporter
pkgconf --exists --print-errors rocksieve-toolbox rocksieve-filters || fail 'pkg-config'
programs_work() { # DIRECTORY SUFFIX
  rm -rf "$work"/used && mkdir "$work/used"
  expect '^10000 of 10000 keys' "$1/core$2"
  expect '^5000 keys found, 1 filters built' "$1/plugin$2" "$work/used/plugin"
  expect '^5000 keys found, rocksdb.bloom.filter.useful COUNT : [45]...$' "$1/c$2" "$work/used/c"
  expect '^5000 keys in both, 0 in one only$' "$1/join$2" "$work/used/join"
  expect '^serves at 127' "$1/exporter$2"
}
programs_work "$work" ''
cmake -S "$sources" -B "$work/build" >"$work/cmake.log" && cmake --build "$work/build" \
  >>"$work/cmake.log" || fail "CMake: $(cat "$work/cmake.log")"
programs_work "$work/build" _program
expect '^5000 keys found, rocksdb.bloom.filter.useful COUNT : [45]...$' \
  "$work/build/static_program" "$work/used/static"

step 'the later version over this one, while servers run'
install "$here"/next/*.deb
versions=$(dpkg-query -W -f='${Package} ${Version} ${db:Status-Status}\n' '*rocksieve*' | grep -v dbgsym)
[ "$(grep -c 'next1 installed$' <<<"$versions")" -eq 6 ] || fail "installed are $versions"
programs_work "$work" ''
all_counts
expect 'ribbon' rocksieve explain --db="$work/bench"
LD_PRELOAD=librocksieve.so expect 'bloom.filter.useful COUNT : 9[0-9]{4}$' \
  "${bench[@]}" --use_existing_db --options_file="$work/OPTIONS" --benchmarks=readmissing

step 'removed, then purged: nothing is left'
kill "${servers[@]}" && wait "${servers[@]}" || true
servers=()
ours=(python3-rocksieve rocksieve-tools librocksieve-dev librocksieve-join1 librocksieve-exporter1 librocksieve1)
mapfile -t debug < <(dpkg-query -W -f='${Package}\n' '*rocksieve*-dbgsym' 2>/dev/null)
apt-get remove -y -qq "${ours[@]}" "${debug[@]}" >"$work/apt.log" 2>&1 || fail "$(cat "$work/apt.log")"
dpkg --purge "${ours[@]}" "${debug[@]}" >"$work/apt.log" 2>&1 || fail "$(cat "$work/apt.log")"
everything >"$work/after"
diff "$work/before" "$work/after" || fail 'this was left, or was lost'
if dpkg-query -W -f='${Package} ${Status}\n' 2>/dev/null | grep rocksieve; then fail 'dpkg knows it still'; fi

step 'without the plugin every key is found'
[ "$(ldb --db="$work/local" scan 2>/dev/null | grep -c '^key')" -eq 3000 ] || fail 'ldb scan'
expect '100000 of 100000 found' db_bench --db="$work/bench" --num=100000 --use_existing_db \
  --benchmarks=readseq,readrandom --reads=100000 --seed=1
expect "rocksieve.*cannot be preloaded" env LD_PRELOAD=librocksieve.so ldb --version

rm -rf "$work"
step 'all as it should be'
