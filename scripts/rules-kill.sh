#!/usr/bin/env bash
# Kills the holders of other programs' locks, those who wait for them, and the daemon, wherever they are, under rules.
# What landed on the backing store shows that nobody but the holder of a lock has changed what it guards, that no lock
# was removed whose holder lives, and that none stays whose holder has ended (integration/rules). Needs root.
#
#   scripts/rules-kill.sh              1,000 kills, one of twenty of the daemon: two minutes
#   scripts/rules-kill.sh KILLS SEED   so many, drawn from a seed
#
# scripts/test.sh does the same with 60.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"

(($# < 3)) || die "usage: scripts/rules-kill.sh [KILLS [SEED]]"
become_root "$here/rules-kill.sh" "$@"
need_go "$root"
need_fuse || die "jvsfs cannot mount without /dev/fuse"
cd "$root"
export GOFLAGS="${GOFLAGS:-} -buildvcs=false" JVSFS_REQUIRE_FUSE=1 JVSFS_KILLS=${1:-1000} JVSFS_SEED=${2:-}
exec go test -count=1 -timeout 60m -v -run TestKillsOfHoldersAndDaemonBreakNoProgramsLock ./integration/rules
