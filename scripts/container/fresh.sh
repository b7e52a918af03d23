# README's commands where nothing is installed but what debootstrap calls a minimal Debian:
# no Go, no compiler, no fuse3. Sourced by container-test.sh; needs the network.
#
# FRESH_SUITES names other releases, and FRESH_TREES a directory in which trees are kept.
# shellcheck shell=bash disable=SC2154 # variables of container-test.sh

read -r -a suites <<<"${FRESH_SUITES:-bookworm trixie}"
trees=${FRESH_TREES:-$work/trees}

# fresh_tree SUITE: a tree of its own, with a copy of the project in it.
fresh_tree() {
  local tree=$trees/$1 log=$work/debootstrap.log
  mkdir -p "$trees"
  [[ -e $tree/etc/os-release ]] || debootstrap --variant=minbase "$1" "$tree" >"$log" 2>&1 ||
    { tail -n 20 "$log" && return 1; }
  cp -L /etc/resolv.conf "$tree/etc/resolv.conf"
  # What the machine trusts besides, for a proxy that it may stand behind.
  mkdir -p "$tree/usr/local/share/ca-certificates"
  cp -rL /usr/local/share/ca-certificates/. "$tree/usr/local/share/ca-certificates/" 2>/dev/null || true
  rm -rf "$tree/jvsfs" # of an earlier run
  mkdir -p "$tree/jvsfs"
  tar -C "$root" --exclude=.git --exclude=dist -cf - . | tar -C "$tree/jvsfs" -xf -
}

# in_fresh SUITE COMMAND...: what it starts and mounts ends with it. Nothing of the
# machine's environment gets in but the way to the network.
in_fresh() {
  local tree=$trees/$1 name settings=()
  shift
  for name in http_proxy https_proxy no_proxy GOPROXY GOSUMDB; do
    [[ -z ${!name:-} ]] || settings+=("$name=${!name}")
  done
  # shellcheck disable=SC2016 # the inner shell expands it
  timeout -k 10 1800 unshare --mount --pid --fork --kill-child --propagation private bash -c '
    set -e
    tree=$1
    shift
    mount --bind "$tree" "$tree"
    mount -t proc proc "$tree/proc"
    mount -t sysfs -o ro sysfs "$tree/sys"
    mount --rbind /dev "$tree/dev"
    mount -t tmpfs tmpfs "$tree/run"
    exec chroot "$tree" "$@"' fresh "$tree" \
    env -i HOME=/root TERM=dumb LC_ALL=C PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "${settings[@]}" \
    sh -c 'cd /jvsfs && exec "$@"' sh "$@" &
  local code=0
  fresh_pid=$!
  wait "$fresh_pid" || code=$?
  fresh_pid='' # another process may get the number
  return "$code"
}

# What test.sh needs is there after it has asked for it, and builds; its suites are the
# same everywhere.
# shellcheck disable=SC2016 # the inner shell expands it
readonly TEST_NEEDS='set -euo pipefail; here=scripts; . scripts/lib.sh; install_missing "${TEST_TOOLS[@]}"; need_go .
export CGO_ENABLED=1 GOFLAGS=-buildvcs=false; go vet ./mountcfg ./lease && go test -race -count=1 ./mountcfg'

install_missing debootstrap:debootstrap /usr/share/keyrings/debian-archive-keyring.gpg:debian-archive-keyring
for suite in "${suites[@]}"; do
  check "A bare $suite" fresh_tree "$suite"
  check "Quickstart on a bare $suite" in_fresh "$suite" scripts/quickstart.sh
  # shellcheck disable=SC2016 # the inner shell expands it
  check "The package on a bare $suite" in_fresh "$suite" bash -c 'scripts/package.sh && apt-get install -y ./dist/jvsfs_*.deb && jvsfs version'
  check "What test.sh needs, on a bare $suite" in_fresh "$suite" bash -c "$TEST_NEEDS"
done
