#!/usr/bin/env bash
# The torture test: several jvsfs daemons, each a host of its own, over one backing
# directory, with several writers on each, while a fault injector kills, stops and delays
# them, sets their clocks wrong, makes the lock directory fail and tears records. Leases are
# handed over and offered to other hosts, modes of mounts switched, killed daemons' mounts
# recovered and serving ones replaced, roots of worktrees renamed, sources mounted twice,
# records forged, and users without permission try everything. A checker decides by what
# landed on the backing store, and in which order, that nothing did that must not. See
# integration/torture and `Rules` in lease/doc.go.
#
#   scripts/torture.sh                        two minutes
#   scripts/torture.sh --minutes 30 --seed 7  longer, with the faults of a seed
#   scripts/torture.sh --tier a               one machine only; c: several, with no lock manager
#   scripts/torture.sh --without OP[,OP...]   leaves operations out: handover, offer, switch, recover,
#                                             replace, rename, mounts, stranger, hostile
#   scripts/torture.sh --theme THEME          only histories that have most of one thing: holds (of writes that
#                                             are past their check), kills (within the steps of the protocol),
#                                             passing (of leases, mounts and roots to others), evenly
#   scripts/torture.sh --dir /dev/shm         in memory: twice as much happens in the same time
#   scripts/torture.sh --parallel 2           histories at a time; where processors are short more find less
#   scripts/torture.sh --json FILE            writes the figures to a file, too
#   scripts/torture.sh --sum FILE...          adds up the figures of several runs
#   scripts/torture.sh --mutants              switch rules off, one by one: each must be caught
#   scripts/torture.sh --mutants --quick      those that are caught within seconds, nearly always
#   scripts/torture.sh --mutants --part 1/2   each second one, beginning with the first
#   scripts/torture.sh --mutant no_drain      only this one
#
# An hour that proves much, on two processors, also when others use them:
#
#   nice -n -12 scripts/torture.sh --minutes 60 --tier c --parallel 3 --dir /dev/shm
#   nice -n -12 scripts/torture.sh --minutes 60 --tier a --parallel 1    (beside it)
#
# Prints histories, operations, grants, steals, kills by step of the protocol, faults by kind,
# and violations, for each tier. A seed gives
# the same faults in the same order; what they meet depends on the machine. Exits non-zero
# on a violation, and on a mutant that is not caught. The other options: --help.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"

if [[ ${1:-} == --sum ]]; then
  need_go "$root"
  files=() # the paths are the caller's, the module is at the root
  for file in "${@:2}"; do files+=("$(realpath "$file")"); done
  cd "$root"
  exec go run ./integration/torture --sum "${files[@]}"
fi
become_root "$here/torture.sh" "$@"
need_go "$root"
need_fuse
cd "$root"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export GOFLAGS="${GOFLAGS:-} -buildvcs=false"
go build -o "$scratch/torture" ./integration/torture
go build -tags jvsfs_torture ${JVSFS_RACE:+-race} -o "$scratch/jvsfs" ./cmd/jvsfs
to_its_end "$scratch/torture" --jvsfs "$scratch/jvsfs" "$@"
