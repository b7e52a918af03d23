#!/usr/bin/env bash
# Compares jvsfs, its lease held, with the directory below it and with other passthrough
# file systems: go-fuse's loopback example of the same version, bindfs, fuse-overlayfs. In
# each round every one of them does the same work in turn. See integration/bench. Where the
# program and the kernel have both, jvsfs-dev and jvsfs-uring are jvsfs over /dev/fuse and
# over io_uring. What cannot be had is left out, and named.
#
#   scripts/bench.sh                           on a disk, five rounds
#   scripts/bench.sh --image                   on an ext4 in a file on that disk
#   scripts/bench.sh --tmpfs                   on a tmpfs too: the file system's own cost
#   scripts/bench.sh --tmpfs --disk=false      on the tmpfs alone
#   scripts/bench.sh --rounds 9 --plot FILE    more rounds; draws to FILE (.svg or .png)
#   scripts/bench.sh --clients                 1 to 16 clients at the same time too
#   scripts/bench.sh --image --rows 'new session' --no-refused --targets jvsfs   when a lease passes on
#   scripts/bench.sh --load                    each medium again while every processor is busy
#   scripts/bench.sh --tmpfs --image --floor --targets jvsfs   15 rows beside the floor of a model
#   scripts/bench.sh --tmpfs --image --save integration/bench/release.csv      keeps the ratios
#   scripts/bench.sh --tmpfs --image --compare integration/bench/release.csv   what got slower by 10 %
#   scripts/bench.sh --quick                   within a minute: some rows on a tmpfs, compared so
#   scripts/bench.sh --rows '^stat' --targets jvsfs,bindfs --requests
#   scripts/bench.sh --tmpfs --disk=false --no-refused --targets jvsfs,jvsfs-rules   what two presets cost
#
# Prints for each row the time of native, the median ratio to it of each target (in brackets
# the smallest and the largest), the requests and the daemon's processor time that one operation
# costs jvsfs, the geometric means, what refused calls cost, and what the first write of a new session costs. The other
# options: --help. Takes a quarter of an hour for each medium. On a machine that others use
# too: nice -n -10 scripts/bench.sh.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"

become_root "$here/bench.sh" "$@"
quick=''
[[ " $* " != *' --quick '* ]] || quick=1
tools=(
  /etc/ssl/certs/ca-certificates.crt:ca-certificates
  fusermount3:fuse3 tar:tar find:findutils grep:grep ls:coreutils git:git
)
[[ $quick ]] || tools+=(bindfs:bindfs fuse-overlayfs:fuse-overlayfs sqlite3:sqlite3 mkfs.ext4:e2fsprogs losetup:mount)
install_missing "${tools[@]}"
need_go "$root"
need_fuse || die "there is nothing to measure without /dev/fuse"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export GOFLAGS="${GOFLAGS:-} -buildvcs=false"
jvsfs=${JVSFS_BINARY:-$scratch/jvsfs}
commit=$(git -c safe.directory='*' -C "$root" describe --always --dirty --exclude '*' 2>/dev/null) || commit=unknown
programs=(--jvsfs "$jvsfs" --loopback "$scratch/loopback" --commit "$commit" --command "scripts/bench.sh $*")
[[ ! $quick ]] || programs+=(--compare "$root/integration/bench/release.csv")
(
  cd "$root"
  export CGO_ENABLED="${CGO_ENABLED:-0}"
  [[ ${JVSFS_BINARY:-} ]] || go build -o "$jvsfs" ./cmd/jvsfs
  # The version of go.mod is the one that jvsfs is built with.
  [[ $quick ]] || go build -o "$scratch/loopback" github.com/hanwen/go-fuse/v2/example/loopback
  go build -C integration/bench -o "$scratch/bench" .
)

# libfuse's example comes as source only. Debian's package has passthrough_ll, and not passthrough_hp.
if [[ $* == *passthrough_ll* ]]; then
  source=/usr/share/doc/libfuse3-dev/examples/passthrough_ll.c
  install_missing gcc:gcc "$source:libfuse3-dev" pkg-config:pkg-config
  # shellcheck disable=SC2046 # the flags are words
  gcc -O2 -o "$scratch/passthrough_ll" "$source" $(pkg-config fuse3 --cflags --libs)
  programs+=(--passthrough-ll "$scratch/passthrough_ll")
fi

to_its_end "$scratch/bench" "${programs[@]}" "$@"
