#!/usr/bin/env bash
# The stories of the fence, the lease, the daemon (recovery, replacement, kills) and other programs' locks, the torture and the
# conformance cases over mounts that get their requests by io_uring (transport: uring). Needs root.
#
#   scripts/uring-test.sh               everything
#   scripts/uring-test.sh --quick       kills, recovery, replacement, the matrix of the fence, one minute of torture
#   scripts/uring-test.sh --proof       only kills under fire, and torture
#
#   --minutes N    how long the torture goes on (10; --quick 1; --proof 30)
#   --kills N      how often a daemon is killed and its mount recovered while others write, in fifties (500; --quick 100)
#   --slower N     leases last so often as long, and so does the patience with it, for an emulated machine (1)
#
# FUSE over io_uring is a parameter of the kernel's module, so of the whole machine. If it is off it is switched on for the
# time of this script, and off at its end (not if the script is killed by SIGKILL). Mounts of others do not change: they
# take io_uring only if they are told to. Where the kernel has none, it says so and ends with 0.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"

usage() { sed -n '/^#   /s/^#   //p' "${BASH_SOURCE[0]}" >&2 && exit 2; }

quick='' proof='' minutes='' kills='' slower=1
parse() {
  while (($#)); do
    case $1 in
    --quick) quick=1 ;;
    --proof) proof=1 ;;
    --minutes) minutes=${2-} && shift ;;
    --kills) kills=${2-} && shift ;;
    --slower) slower=${2-} && shift ;;
    *) usage ;;
    esac
    shift || usage
  done
  [[ $quick ]] && : "${minutes:=1}" "${kills:=100}"
  [[ $proof ]] && : "${minutes:=30}"
  : "${minutes:=10}" "${kills:=500}"
  # 10# because 08 is no octal number.
  [[ $minutes =~ ^[0-9]{1,4}$ && $kills =~ ^[0-9]{1,6}$ && $slower =~ ^[1-9][0-9]?$ ]] || usage
  minutes=$((10#$minutes)) rounds=$(((10#$kills + 49) / 50))
}
parse "$@"
become_root "$here/uring-test.sh" "$@"

readonly PARAMETER=/sys/module/fuse/parameters/enable_uring LOCK=/run/lock/jvsfs-uring-test

# no_ring: why this machine has none; fails if it has one.
no_ring() {
  if [[ $(uname -m) != x86_64 ]]; then
    echo "jvsfs uses io_uring on x86-64 only"
  elif [[ ! -e $PARAMETER ]]; then
    echo "the kernel has no FUSE over io_uring (Linux 6.14 and later)"
  elif [[ $(cat /proc/sys/kernel/io_uring_disabled 2>/dev/null) == 2 ]]; then
    echo "io_uring is switched off (kernel.io_uring_disabled)"
  else
    return 1
  fi
}

need_fuse || die "jvsfs cannot mount without /dev/fuse"
if why=$(no_ring); then
  printf 'Nothing was run on io_uring: %s.\n' "$why"
  exit 0
fi
install_missing "${TEST_TOOLS[@]}"
need_go "$root"

mkdir -p "${LOCK%/*}"
exec {lock}>"$LOCK"
flock --nonblock "$lock" || die "another one is using io_uring: $LOCK is locked"

scratch=$(mktemp -d /var/tmp/jvsfs-uring.XXXXXX) switched='' child=''
# Whoever still runs is ended before the parameter is put back.
clean() {
  local status=$?
  trap - EXIT INT TERM HUP
  if [[ $child ]] && kill "$child" 2>/dev/null; then wait "$child" || true; fi
  if [[ $switched ]]; then
    echo N >"$PARAMETER"
    printf '%s is N again\n' "$PARAMETER"
  fi
  rm -rf --one-file-system "$scratch"
  exit "$status"
}
at_end clean

if [[ $(cat "$PARAMETER") == N ]]; then
  echo Y >"$PARAMETER" || die "$PARAMETER cannot be written here"
  switched=1
  printf '%s is Y until this script ends: it was N\n' "$PARAMETER"
else
  printf '%s is Y already, and stays so\n' "$PARAMETER"
fi

cd "$root"
export GOFLAGS="${GOFLAGS:-} -buildvcs=false" JVSFS_REQUIRE_FUSE=1 JVSFS_TEST_TRANSPORT=uring
export JVSFS_TEST_SLOWER=$slower
export JVSFS_BINARY=${JVSFS_BINARY:-$scratch/jvsfs}
[[ -e $JVSFS_BINARY ]] || go build ${JVSFS_RACE:+-race} -o "$JVSFS_BINARY" ./cmd/jvsfs

# check TITLE COMMAND...: in the background, because a trap waits for what is in the foreground.
failed=()
check() {
  title "$1"
  "${@:2}" {lock}>&- &
  child=$!
  wait "$child" || failed+=("$1")
  child=''
}

# stories ARG...: as many packages at a time as there are processors; each has namespaces of its own.
stories() { exec go test -count=1 -timeout $((30 * slower))m -p "$(nproc)" "$@"; }

# nothing_left: no connection of FUSE and no process that jvsfs made, and no complaint of the kernel's.
nothing_left() {
  local tries left
  for ((tries = 0; tries < 100; tries++)); do
    left=$(comm -13 "$scratch/connections" <(connections)) || return
    [[ $left ]] || break
    sleep 0.1
  done
  [[ -z $left ]] || { printf 'connections that are left: %s\n' "$left" && return 1; }
  ! dmesg 2>/dev/null | sed "1,${logged}d" | grep -E 'WARNING:|BUG:|blocked for more than|entry teardown|ent-req-queue|ent-commit-queue'
}

connections() { { ls /sys/fs/fuse/connections 2>/dev/null || true; } | sort; }

connections >"$scratch/connections"
logged=$(dmesg 2>/dev/null | wc -l || true)
if [[ $proof ]]; then
  :
elif [[ $quick ]]; then
  check "Kills, recovery, replacement" stories -run 'Transport|Recover|Replac|KillsOf' ./integration/daemon ./integration/rules
  check "The fence" stories -run 'EveryRow|Revoked' ./integration/fence
else
  check "Unit tests of the transport" stories ./fusefs/...
  check "The stories" stories ./integration/fence ./integration/lease ./integration/daemon ./integration/rules
fi
check "Kills under fire, $((rounds * 50))" stories -count="$rounds" -timeout $((120 * slower))m -run '^TestNoStrangersWriteLandsDuringFiftyRecoveries$' ./integration/daemon
[[ $proof ]] || check "Killed daemons let everybody go" stories -count=10 -timeout $((60 * slower))m -run '^TestAKilledDaemonLeavesNoCallerWaiting$' ./integration/daemon
check "Torture, $minutes minutes" "$here/torture.sh" --minutes "$minutes" --slower "$slower"
[[ $proof ]] || check "Conformance" "$here/conformance.sh" --quick --only cases --only posixtest "$scratch"
check "Nothing is left behind" nothing_left

title "Summary"
if ((${#failed[@]})); then
  printf 'FAIL on io_uring: %s\n' "${failed[@]}"
  exit 1
fi
printf 'everything passed on io_uring\n'
