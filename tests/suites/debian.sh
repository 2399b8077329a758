#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ./run test --suite=SUITE: whether what README says first works on a machine that has nothing.
#
#   debian.sh SUITE [--filter=REGEX] [--thorough] [--system=DIRECTORY] [--packages[=DIRECTORY]]
#
# Makes a bare Debian (bookworm, trixie or sid) with debootstrap, clones the committed HEAD into
# root's home there (which no other user may enter, at a path with spaces), and runs ./run demo and
# ./run test in it. REGEX and --thorough are for ./run test. Prints times; ends with 0 if both passed, with 1 if one
# did not, with 2 if it could not run. The logs stay in build/suites/SUITE.
#
# With --system the new system is DIRECTORY/root, which stays; if it is there already it is used as
# it was left, with all packages that it has got: quicker, but no longer bare.
#
# With --packages it runs ./run package there instead, unless DIRECTORY has packages of that Debian and,
# in DIRECTORY/next, of a later version; then use_packages.sh in a second bare Debian, with those.
#
# All of it happens in mount and process namespaces of its own: what is mounted for it is mounted
# nowhere else, and whatever ends this script ends all that runs in there. The directory of the new
# system is so never the way to something that is not in it, and may be removed.
set -euo pipefail

fail() {
  echo "suite: $*" >&2
  exit 2
}

# The address of the Debian archive that this system's own packages come from.
mirror_of_this_system() {
  local site
  site=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' \
    'Label: Debian' 'Component: main' 2>/dev/null | head -n 1) || true
  [ -n "$site" ] || fail "no Debian archive is known to apt here. Run apt-get update, or name one:" \
    "ROCKSIEVE_DEBIAN_MIRROR=ADDRESS ./run test --suite=$suite"
  echo "$site"
}

# What apt needs to reach the archive (a proxy, say), for the new system's apt too.
apt_connections() {
  apt-config dump 2>/dev/null | grep -E '^Acquire::(http|https)::' || true
  # A mirror that is not followed day by day will do: sid's says that it is valid for a week.
  echo 'Acquire::Check-Valid-Until "false";'
}

# Runs a command, its output here and in a log, and prints how long it took.
timed() {
  local name=$1 log=$2 began=$SECONDS code=0
  shift 2
  "$@" </dev/null 2>&1 | tee "$logs/$log.log" || code=$?
  echo "suite: $name: $([ "$code" -eq 0 ] && echo passed || echo "failed ($code)")," \
    "$((SECONDS - began)) s" | tee -a "$logs/times"
  return "$code"
}

# In the namespaces: process 1 of one, and the only one who sees the mounts.
#
# bare_system ROOT: a new one, or what was left of it.
bare_system() {
  local root=$1
  # debootstrap leaves a directory of its own where it did not come to its end.
  if [ -x "$root/usr/bin/apt-get" ] && [ ! -e "$root/debootstrap" ]; then
    echo "suite: $root is used again"
  else
    debootstrap --variant=minbase "$suite" "$root" "$mirror"
  fi &&
    echo 'exit 101' >"$root/usr/sbin/policy-rc.d" &&  # packages must not start services
    chmod 0755 "$root/usr/sbin/policy-rc.d" &&
    apt_connections >"$root/etc/apt/apt.conf.d/10suite" &&
    { [ -e "$root/etc/hosts" ] || echo '127.0.0.1 localhost' >"$root/etc/hosts"; } &&  # the installer's
    chmod 0700 "$root/root" &&
    { mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"; } &&
    mkdir -p "$root/dev/shm" "$root/dev/pts" &&
    mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs "$root/dev/shm" &&
    mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
}

# The new system with a clone in it.
make_system() {
  bare_system "$root" &&
    rm -rf "$root$clone" &&
    # By way of a file: git wants the owner of a repository to be who reads it.
    git clone --quiet "$work/head.bundle" "$root$clone" &&
    git -C "$root$clone" log -1 --format='suite: commit %h, %s'
}

# in_system ROOT FOLDER COMMAND...
in_system() {
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
    chroot "$1" /bin/bash -c 'cd "$0" && exec "$@"' "${@:2}"
}

inside() { in_system "$root" "$clone" "$@"; }

# A second bare system, with packages, programs that use them, and who tries them.
make_user() {
  bare_system "$work/user" &&
    mkdir -p "$work/user/packages" &&
    cp -r "$1"/*.deb "$1/next" "$work/user/packages" &&
    git -c safe.directory='*' archive HEAD integration/consumer tests/suites/use_packages.sh |
      tar -C "$work/user/packages" -x
}

run_packages() {
  local built=$packages
  if [ "$built" = - ]; then
    timed "a bare Debian ($suite)" debootstrap make_system || exit 2
    timed './run package --next' package inside ./run package --next || exit 1
    built=$root$clone/build/packages
  fi
  rm -rf --one-file-system "$work/user"
  timed "a bare Debian ($suite) for the packages" user make_user "$built" || exit 2
  timed 'install, use, upgrade, remove' packages in_system "$work/user" /packages \
    tests/suites/use_packages.sh || exit 1
  exit 0
}

run_suite() {
  local failed=0
  if [ -n "$packages" ]; then run_packages; fi
  timed "a bare Debian ($suite)" debootstrap make_system || exit 2
  timed './run demo' demo inside ./run demo || failed=1
  timed "./run test${filter:+ $filter}${thorough:+ $thorough}" test \
    inside ./run test ${filter:+"$filter"} $thorough || failed=1
  exit "$failed"
}

suite=${1:?which suite?}
filter='' system='' packages='' thorough=''
for argument in "${@:2}"; do
  case $argument in
    --filter=*) filter=$argument ;;
    --thorough) thorough=$argument ;;
    --system=*) system=${argument#*=} ;;
    --packages) packages=- ;;
    --packages=*) packages=$(realpath "${argument#*=}") ;;
  esac
done
if [ -n "${ROCKSIEVE_SUITE_WORK:-}" ]; then  # called by itself, see below
  work=$ROCKSIEVE_SUITE_WORK logs=$ROCKSIEVE_SUITE_LOGS mirror=$ROCKSIEVE_SUITE_MIRROR
  root=$work/root clone='/root/a clone of rocksieve'
  run_suite
fi

case $suite in
  bookworm | trixie | sid) ;;
  *) fail "--suite takes bookworm, trixie or sid, not $suite" ;;
esac
[ "$(id -u)" -eq 0 ] || fail "a system of its own takes root: sudo ./run test --suite=$suite"
for program in debootstrap git unshare; do
  command -v $program >/dev/null || fail "$program is missing: apt-get install $program"
done
unshare --mount --pid --fork true 2>/dev/null || fail "this system lets nobody make namespaces" \
  "(unshare --mount --pid --fork true fails): in a container, give it --privileged"
mirror=${ROCKSIEVE_DEBIAN_MIRROR:-$(mirror_of_this_system)} || exit
logs=$PWD/build/suites/$suite
rm -rf "$logs"
mkdir -p "$logs"
if [ -n "$system" ]; then
  mkdir -p "$system"
  work=$(realpath "$system")
else
  work=$(mktemp -d "${TMPDIR:-/var/tmp}/rocksieve-$suite.XXXXXX")
fi

# The first process of the namespace ends with all others in it; it is the child of unshare.
clean_up() {
  local code=$? first=''
  trap '' INT TERM HUP
  if [ -n "${namespaces:-}" ]; then
    read -r first <"/proc/$namespaces/task/$namespaces/children" 2>/dev/null || true
    if [ -n "$first" ]; then kill -KILL "$first" 2>/dev/null || true; fi
    wait "$namespaces" 2>/dev/null || true
  fi
  if [ -n "$system" ]; then
    rm -rf --one-file-system "$work/head.bundle" "$work/user"
  else
    rm -rf --one-file-system "$work"
  fi
  exit "$code"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

git -c safe.directory='*' bundle create --quiet "$work/head.bundle" HEAD
if [ -n "$(git -c safe.directory='*' status --porcelain --untracked-files=no)" ]; then
  echo 'suite: what is not committed is not tested' >&2
fi
echo "suite: $suite from $mirror, $(nproc) processors" | tee "$logs/times"
ROCKSIEVE_SUITE_WORK=$work ROCKSIEVE_SUITE_LOGS=$logs ROCKSIEVE_SUITE_MIRROR=$mirror \
  setsid unshare --mount --pid --fork --propagation private --kill-child "$0" "$@" &
namespaces=$!
code=0
wait "$namespaces" || code=$?
namespaces=''
echo 'suite: times:'
cat "$logs/times"
exit "$code"
