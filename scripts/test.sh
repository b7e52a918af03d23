#!/usr/bin/env bash
# The checks of the project, on a fresh Debian 12: installs what is missing, then runs them.
#
#   scripts/test.sh            what a change needs: some 16 minutes on two idle processors. Formatting, vet, lint, build; unit
#                              tests with the race detector; every story through real mounts, side by side; every clause of the lease's
#                              rules removed once; the models, where they or what they model changed; a minute of torture, and the
#                              broken rules that it finds within a minute; the quick cases of the conformance run; two hosts on one store
#   scripts/test.sh --whole    everything, for a night or before a release: these, the tests once more on one processor, all broken
#                              rules, all models, fuzzing, all stores, the benchmark beside the last release's, containers, the package,
#                              the dashboard, the programs of the presets, README's commands on a bare tree
#
# Ends with how long each section took (scripts/test.budgets has what it may take), and "N passed, N failed". Exits non-zero when
# anything failed, or when a test was skipped. With JVSFS_TEST_MINUTES=N what still runs after N minutes is ended, with the stacks
# of the tests, and what was not begun has failed: a test that hangs must not cost a whole CI run its output.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"

whole=''
case "${1:-}" in
'') ;;
--whole) whole=1 ;;
*) die "usage: scripts/test.sh [--whole]" ;;
esac

become_root "$here/test.sh" "$@"

readonly STORE=moosefs # the cheapest of the stores that several hosts can share
read -ra store_tools <<<"${HOSTS_ENGINES[$STORE]}"
read -ra etcd_tools <<<"${HOSTS_ENGINES[etcd]}"
install_missing "${TEST_TOOLS[@]}" npm:npm prometheus:prometheus # these are too large for the container
without_services install_missing "${HOSTS_TOOLS[@]}" "${store_tools[@]}" "${etcd_tools[@]}"
need_go "$root"
cd "$root"
go mod download
go mod download -modfile=scripts/lint.mod
SECONDS=0 # what is fetched is not counted

export CGO_ENABLED=1 # the race detector needs it
# A checkout that belongs to somebody else must build too; git refuses to look at it.
export GOFLAGS="${GOFLAGS:-} -buildvcs=false"

scratch=$(mktemp -d)
on_disk=$(mktemp -d /var/tmp/jvsfs-conformance.XXXXXX)
chmod 755 "$scratch" # stories of other users start the program
# shellcheck source=scripts/sections.sh
. "$here/sections.sh"
# In a trap, too, a command that fails ends the script, with its own exit code.
at_end '((${#beside_pid[@]} == 0)) || kill "${beside_pid[@]}" 2>/dev/null || true; wait || true; rmdir "$on_disk" || true; rm -rf "$scratch"' # once what runs has ended
# Marks what the tests start, to find what they leave.
mark="JVSFS_TEST_RUN=$$.$RANDOM"

# The tags of what is not built by default. No file is left out by one of them but the stand-ins of the pages and of etcd.
readonly TAGS=jvsfs_torture,jvsfs_docs,jvsfs_dashboard,jvsfs_programs,jvsfs_hosts,jvsfs_etcd

formatted() {
  local list
  list=$("$(go env GOROOT)/bin/gofmt" -l .) || return
  [[ -z $list ]] || { printf 'not formatted: %s\n' "$list" && return 1; }
}

# vet: with all tags, and what is built without them alone.
vet() { go vet -tags "$TAGS" ./... && go vet ./cmd/jvsfs; }

# programs: what the stories drive, as it is shipped, what writes its manual, and what runs them.
programs() {
  local cgo=0
  [[ -z ${JVSFS_RACE-} ]] || cgo=1
  CGO_ENABLED=$cgo go build ./... || return
  CGO_ENABLED=$cgo go build -o "$scratch/runner" ./integration/runner || return
  export JVSFS_DOCS_BINARY=$scratch/jvsfs-docs
  CGO_ENABLED=$cgo go build -tags jvsfs_docs -o "$JVSFS_DOCS_BINARY" ./cmd/jvsfs || return
  [[ -z ${JVSFS_BINARY-} ]] || return 0
  export JVSFS_BINARY=$scratch/jvsfs
  CGO_ENABLED=$cgo go build ${JVSFS_RACE:+-race} -o "$JVSFS_BINARY" ./cmd/jvsfs
}

stories() { CGO_ENABLED=${JVSFS_RACE:-0} limited TERM env "$mark" "$scratch/runner" --counts "$scratch/counts" "$@" "${stories[@]}"; }

# bench_module: the benchmark is a module of its own, so that its plotting library is
# not one of the program's.
bench_module() { (cd integration/bench && go vet ./... && go test -count=1 ./...); }

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

# new_mounts: but for those of another run of this script, which are where its conformance cases are.
new_mounts() { comm -13 "$scratch/mounts" <(jvsfs_mounts) | awk -v own="$on_disk/" '!/^\/var\/tmp\/jvsfs-conformance\./ || index($0, own) == 1'; }

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

# packages: those whose tests run in namespaces of their own are stories. Others are unit tests.
packages=() stories=()
sort_packages() {
  local list package imports
  list=$(go list -f '{{.ImportPath}} {{.TestImports}}{{.XTestImports}}' ./...)
  while read -r package imports; do
    case $package in
    */integration/conformance*) ;; # by its own script
    */lease/etcd) ;;               # by hosts-test.sh, which installs a server of etcd; its rules by mutations.sh
    *) if [[ $imports == *integration/harness* || $package == */integration/harness ]]; then stories+=("$package"); else packages+=("$package"); fi ;;
    esac
  done <<<"$list"
  ((${#packages[@]} && ${#stories[@]})) || die "go list finds no packages"
}

# what a change needs
short() {
  check "Formatting" formatted
  check "Vet" vet
  check "golangci-lint" "$here/lint.sh"
  check "Build" programs
  # What stands beside another waits for half of its time or more.
  beside "Several hosts on $STORE" "$here/hosts-test.sh" --engine "$STORE" --quick
  beside "Rules of the lease removed" "$here/mutations.sh"
  tests "Unit tests, race detector" gotest '' -race "${packages[@]}"
  await "Several hosts on $STORE"
  beside "Conformance" "$here/conformance.sh" --quick --only cases --only posixtest "$on_disk"
  beside "Torture" "$here/torture.sh" --minutes 1
  tests "Stories" stories
  await "Rules of the lease removed"
  await "Conformance"
  await "Torture"
  check "Models of the protocol, where they changed" "$here/model.sh" --quick --if-changed
  # Alone: which history catches a mutant depends on how much happens in it.
  check "Torture finds broken rules within a minute" "$here/torture.sh" --mutants --quick --minutes 5
}

# the rest
rest() {
  local engine
  export GOMAXPROCS=1
  tests "Unit tests, race detector, one processor" gotest '' -race "${packages[@]}"
  tests "Stories, one processor" stories
  unset GOMAXPROCS
  check "Fuzzing" "$here/fuzz.sh" --time 30s
  check "Models of the protocol, small" "$here/model.sh" --quick
  check "Models of the protocol, large" "$here/model.sh"
  check "Torture, ten minutes" "$here/torture.sh" --minutes 10
  check "Torture finds all broken rules" "$here/torture.sh" --mutants --minutes 12
  check "Conformance, all suites" "$here/conformance.sh" --quick "$on_disk"
  check "Benchmark's own tests" bench_module
  for engine in "${!HOSTS_ENGINES[@]}"; do
    [[ $engine != "$STORE" ]] || continue
    if [[ $engine == juicefs && -z ${JUICEFS-} ]]; then # it is in no registry of packages
      left_out+=("Several hosts on juicefs: JUICEFS names no program")
      continue
    fi
    check "Several hosts on $engine" "$here/hosts-test.sh" --engine "$engine" --quick
  done
  check "Benchmark beside the last release's" "$here/bench.sh" --tmpfs --image --compare integration/bench/release.csv
  check "Programs of the presets" "$here/presets-test.sh"
  check "Dashboard" "$here/dashboard-test.sh"
  check "Containers, small image, package, unit" "$here/container-test.sh" --all --image --package --systemd
  check "What a daemon in a container needs" "$here/container-test.sh" --privileges
  check "README's commands on a bare Debian" "$here/container-test.sh" --fresh
}

jvsfs_mounts >"$scratch/mounts"
# Without /dev/fuse the integration tests say so and fail, which is what is wanted.
need_fuse || true
export JVSFS_REQUIRE_FUSE=1
sort_packages
short
[[ -z $whole ]] || rest
# Whatever time it is.
JVSFS_TEST_MINUTES='' check "Nothing is left behind" nothing_left
summary
