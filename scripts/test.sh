#!/usr/bin/env bash
# Every check of the project, on a fresh Debian 12: installs what is missing, then
# formatting, vet, build, unit tests (race detector), integration tests through real
# mounts, all of them again on one processor, each rule of the lease removed once, every
# fuzz test for some seconds, the models of the protocol, two minutes of torture, the
# torture of broken rules, the cases of the conformance run, two hosts on real distributed
# file systems, and a look for what was left behind.
#
#   scripts/test.sh            everything; of the removed rules a sixth, and of the torture's broken
#                              rules a half, the others at other commits (scripts/mutations.sh and
#                              scripts/torture.sh --mutants have all). Where the first round of the stories
#                              took N times 10 minutes, an Nth of their packages has the second one, and so with these,
#                              and the broken rules get leases that are twice as long, in two histories at a time
#   scripts/test.sh --whole    as much on a slow machine as on a fast one
#   scripts/test.sh --quick    without the second round on one processor, and without
#                              the removed rules
#
# Ends with "N passed, N failed"; exits non-zero when anything failed, or when an
# integration test was skipped. With JVSFS_TEST_MINUTES=N what still runs after N minutes is
# ended, with the stacks of the tests, and what was not begun has failed: a test that hangs
# must not cost a whole CI run its output.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"

quick='' whole=''
case "${1:-}" in
'') ;;
--quick) quick=1 ;;
--whole) whole=1 ;;
*) die "usage: scripts/test.sh [--quick|--whole]" ;;
esac

become_root "$here/test.sh" "$@"

install_missing "${TEST_TOOLS[@]}" npm:npm prometheus:prometheus # these are too large for the container
need_go "$root"
cd "$root"

export CGO_ENABLED=1 # the race detector needs it
# A checkout that belongs to somebody else must build too; git refuses to look at it.
export GOFLAGS="${GOFLAGS:-} -buildvcs=false"

passed=0 failed=0 skipped=0
scratch=$(mktemp -d)
beside=() # processes that run beside this one
# In a trap, too, a command that fails ends the script, with its own exit code.
at_end '((${#beside[@]} == 0)) || kill "${beside[@]}" 2>/dev/null || true; wait || true; rm -rf "$scratch"' # once what runs has ended
# Marks what the tests start, to find what they leave.
mark="JVSFS_TEST_RUN=$$.$RANDOM"

# limited SIGNAL COMMAND...: run it for as long as this run has time, and end it by SIGNAL then. A function is only not
# begun late: timeout(1) starts programs alone. Without a limit Ctrl-C reaches everything, so timeout(1) has to stay out.
limited() {
  local signal=$1 left
  shift
  [[ ${JVSFS_TEST_MINUTES:-} ]] || { "$@"; return; }
  left=$((10#$JVSFS_TEST_MINUTES * 60 - SECONDS))
  ((left > 0)) || { printf 'not begun: JVSFS_TEST_MINUTES=%s are over\n' "$JVSFS_TEST_MINUTES" && return 124; }
  [[ $(type -t "$1") != function ]] || { "$@"; return; }
  timeout -s "$signal" -k 60 "$left" "$@"
}

# section TITLE: what runs now, and how long this run has taken so far.
section() { title "$1 ($((SECONDS / 60)) min)"; }

# check TITLE COMMAND...: one check that is no Go test.
check() {
  section "$1"
  shift
  if limited TERM "$@"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf 'FAIL  %s\n' "$*"
  fi
}

# at_once: how many packages are tested at the same time. They wait for leases, disks and processes that end: with one for each
# processor these were idle for 61 % of the time.
at_once=$((3 * $(nproc)))

# gotest TITLE VERBOSE ARG...: go test, counted. Leaves the skips of this run in $skips.
gotest() {
  local p=0 f=0 before=$failed status=0 verbose=$2
  section "$1"
  shift 2
  rm -f "$scratch/counts"
  # On SIGQUIT a test prints what each goroutine waits for. Go's limit is for tests that hang and nothing else ends: at a load of 24 a
  # package of stories takes more than 20 minutes.
  limited QUIT env "$mark" go test -json -count=1 -timeout 70m -p "$at_once" "$@" 2>&1 |
    awk -v counts="$scratch/counts" -v verbose="$verbose" -f "$here/testjson.awk" || status=$?
  skips=0
  [[ ! -e $scratch/counts ]] || read -r p f skips <"$scratch/counts"
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + skips))
  # Whatever made it fail, it must not get lost in the counting.
  if ((status != 0 && failed == before)); then failed=$((failed + 1)); fi
}

# integration TITLE PACKAGE...: the stories. Each package has namespaces of its own, so that they can run at the same time.
integration() {
  local heading=$1
  shift
  gotest "$heading" 1 "$@"
  if ((skips)); then
    printf 'FAIL  %d integration tests were skipped\n' "$skips"
    failed=$((failed + skips))
  fi
}

# program: what the stories drive, built once for all their packages.
program() {
  [[ -z ${JVSFS_BINARY-} ]] || return 0
  export JVSFS_BINARY=$scratch/jvsfs
  go build ${JVSFS_RACE:+-race} -o "$JVSFS_BINARY" ./cmd/jvsfs
}

# on_stores ENGINE...: two hosts on each of these file systems, all at the same time: they wait for their stores. What one prints comes
# when it has ended.
on_stores() {
  local engine tools status left=$((10#${JVSFS_TEST_MINUTES:-1440} * 60 - SECONDS))
  local -A process
  for engine; do # one after the other: apt has a lock
    read -ra tools <<<"${HOSTS_ENGINES[$engine]}"
    without_services install_missing "${HOSTS_TOOLS[@]}" "${tools[@]}"
  done
  for engine; do
    timeout -s TERM -k 60 "$((left > 0 ? left : 1))" "$here/hosts-test.sh" --engine "$engine" --quick >"$scratch/$engine" 2>&1 &
    process[$engine]=$!
    beside+=("$!")
  done
  for engine; do
    section "Several hosts on $engine"
    status=0
    wait "${process[$engine]}" || status=$?
    cat "$scratch/$engine"
    if ((status == 0)); then
      passed=$((passed + 1))
    else
      failed=$((failed + 1))
      printf 'FAIL  %s --engine %s --quick\n' "$here/hosts-test.sh" "$engine"
    fi
  done
  beside=()
}

formatted() {
  local list
  list=$("$(go env GOROOT)/bin/gofmt" -l .) || return
  [[ -z $list ]] || { printf 'not formatted: %s\n' "$list" && return 1; }
}

# share N: which Nth of a check that takes long this commit runs; all of it where there is no commit.
share() {
  local commit
  commit=$(git -c safe.directory='*' -C "$root" rev-parse HEAD 2>/dev/null) || { echo 1/1 && return; }
  echo "$((0x${commit: -2} % $1 + 1))/$1"
}

# largest_first PACKAGE...: those with the most tests come first, so that they are among different parts.
largest_first() {
  local package dir
  while read -r package dir; do
    printf '%d %s\n' "$(cat "$dir"/*_test.go 2>/dev/null | grep -c '^func Test' || true)" "$package"
  done < <(go list -f '{{.ImportPath}} {{.Dir}}' "$@") | sort -rn | cut -d ' ' -f 2
}

# once_more PART/PARTS: every PARTSth package of stories.
once_more() {
  local i part=${1%/*} parts=${1#*/}
  for i in "${!stories[@]}"; do
    ((i % parts != part - 1)) || printf '%s\n' "${stories[i]}"
  done
}

jvsfs_mounts() { findmnt -rn -t fuse.jvsfs -o TARGET | sort || true; }

# marked_processes: what tests started and did not end. The go command may leave
# its own helper processes, which end by themselves.
marked_processes() {
  local dir name
  for dir in /proc/[0-9]*; do
    { tr '\0' '\n' <"$dir/environ" | grep -qxF "$mark"; } 2>/dev/null || continue
    name=$(cat "$dir/comm" 2>/dev/null) || continue
    [[ $name == go ]] || printf '%s %s: %s\n' "${dir#/proc/}" "$name" "$(tr '\0' ' ' <"$dir/cmdline" 2>/dev/null)"
  done
}

# bench_module: the benchmark is a module of its own, so that its plotting library is
# not one of the program's.
bench_module() { (cd integration/bench && go vet ./... && go test -count=1 ./...); }

# speed: some rows beside those of the last release. Times of a machine that does other things say
# little, so this prints and judges nothing. A program with the race detector in it has no speed.
speed() {
  [[ -z ${JVSFS_RACE-} ]] || return 0
  timeout -k 60 240 "$here/bench.sh" --quick || printf 'The speed could not be compared here.\n'
}

# conformance: the quick cases, beside a directory on a disk.
conformance() {
  local dir status=0
  dir=$(mktemp -d /var/tmp/jvsfs-conformance.XXXXXX)
  "$here/conformance.sh" --quick --only cases --only posixtest "$dir" || status=$?
  rmdir "$dir"
  return "$status"
}

new_mounts() { comm -13 "$scratch/mounts" <(jvsfs_mounts); }

# nothing_left: no mount and no process of the tests. A process that is just ending
# gets a moment.
nothing_left() {
  local mounts processes tries
  for ((tries = 0; tries < 50; tries++)); do
    mounts=$(new_mounts) processes=$(marked_processes)
    [[ -n $mounts || -n $processes ]] || return 0
    sleep 0.1
  done
  printf 'left over:\n%s\n%s\n' "$mounts" "$processes"
  return 1
}

jvsfs_mounts >"$scratch/mounts"
# Without /dev/fuse the integration tests say so and fail, which is what is wanted.
need_fuse || true
export JVSFS_REQUIRE_FUSE=1

check "Formatting" formatted
check "Vet" go vet ./...
check "golangci-lint" "$here/lint.sh"
check "Build" go build ./...
check "Build of the program that the stories drive" program
check "Vet, torture build" go vet -tags jvsfs_torture ./...
check "Vet, documentation" go vet -tags jvsfs_docs ./cmd/jvsfs
check "Vet, drawing of the dashboard" go vet -tags jvsfs_dashboard ./integration/service
check "Vet, presets' programs" go vet -tags jvsfs_programs ./integration/rules
check "Vet, several hosts" go vet -tags jvsfs_hosts ./integration/hosts ./integration/etcd
check "Benchmark" bench_module
check "Speed beside the last release's (printed, not judged)" speed
packages=() stories=()
while read -r package; do
  case $package in
  */integration/conformance*) ;; # by its own script
  */lease/etcd) ;;               # by hosts-test.sh, which installs a server of etcd
  */integration/*) stories+=("$package") ;;
  *) packages+=("$package") ;;
  esac
done < <(go list ./...)
if ((${#packages[@]} == 0 || ${#stories[@]} == 0)); then die "go list finds no packages"; fi
mapfile -t sorted < <(largest_first "${stories[@]}")
((${#sorted[@]} == ${#stories[@]})) || die "some packages of stories were lost: ${stories[*]}"
stories=("${sorted[@]}")

gotest "Unit tests, race detector" '' -race "${packages[@]}"
[[ $quick ]] || GOMAXPROCS=1 gotest "Unit tests, race detector, one processor" '' -race "${packages[@]}"
began=$SECONDS
integration "Integration tests" "${stories[@]}"
# Two slow processors need 20 minutes for one round. A second one, and as much of the rest as elsewhere, were not done in time.
slow=$((1 + (SECONDS - began) / 600))
longer=() # a lease that ends before anything is done under it finds no broken rule
((slow == 1)) || longer=(--slower 2 --parallel 2)
[[ -z $whole ]] || slow=1
part=$(share "$slow")
mapfile -t again < <(once_more "$part")
[[ $quick ]] || GOMAXPROCS=1 integration "Integration tests, one processor, part $part" "${again[@]}"
[[ $quick ]] || check "Rules of the lease removed, part $(share $((6 * slow)))" "$here/mutations.sh" --part "$(share $((6 * slow)))"
check "Fuzzing" "$here/fuzz.sh" --time 8s
check "Models of the protocol" "$here/model.sh" --quick
check "Torture" "$here/torture.sh" --minutes 2
check "Torture finds broken rules, part $(share $((2 * slow)))" "$here/torture.sh" --mutants --part "$(share $((2 * slow)))" --minutes $((6 * slow)) "${longer[@]}"
check "Conformance" conformance
on_stores moosefs cephfs
on_stores glusterfs etcd
# Whatever time it is.
JVSFS_TEST_MINUTES='' check "Nothing is left behind" nothing_left

section "Summary"
((skipped == 0)) || printf '%d skipped\n' "$skipped"
printf '%d passed, %d failed\n' "$passed" "$failed"
((failed == 0))
