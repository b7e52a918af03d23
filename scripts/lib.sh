# Shared by the scripts of this directory: say, install what is missing, find Go.
# shellcheck shell=bash

# Go's oldest release that builds this module, as in go.mod, and the one that is fetched
# where there is none.
readonly NEED_GO=1.26 FETCH_GO=1.26.8

# What the tests drive, as WHAT:PACKAGE for install_missing.
# shellcheck disable=SC2034 # used by the scripts
readonly TEST_TOOLS=(
  /etc/ssl/certs/ca-certificates.crt:ca-certificates
  gcc:gcc /usr/include/stdio.h:libc6-dev make:make git:git
  fusermount3:fuse3 findmnt:mount setsid:util-linux ps:procps awk:mawk systemd-analyze:systemd
  setfattr:attr setfacl:acl chattr:e2fsprogs inotifywait:inotify-tools strace:strace
  rsync:rsync curl:curl tar:tar tmux:tmux vim:vim sqlite3:sqlite3 redis-cli:redis-tools node:nodejs git-lfs:git-lfs python3:python3
  /usr/include/lmdb.h:liblmdb-dev
  groff:groff-base /usr/share/bash-completion/bash_completion:bash-completion
)

# What scripts/hosts-test.sh needs beside them: links between hosts, and a store for several of them.
# shellcheck disable=SC2034 # used by the scripts
readonly HOSTS_TOOLS=(ip:iproute2 nsenter:util-linux)
# shellcheck disable=SC2034 # used by the scripts
declare -rA HOSTS_ENGINES=(
  [glusterfs]='glusterd:glusterfs-server glusterfs:glusterfs-client'
  [cephfs]='ceph-mon:ceph-mon ceph-osd:ceph-osd ceph-mds:ceph-mds ceph-fuse:ceph-fuse ceph:ceph-common'
  [juicefs]='redis-server:redis-server redis-cli:redis-tools'
  [moosefs]='mfsmaster:moosefs-master mfschunkserver:moosefs-chunkserver mfsmount:moosefs-client mfscli:moosefs-cli'
  [etcd]='etcd:etcd-server etcdctl:etcd-client'
)

if [[ -t 1 && -z ${NO_COLOR:-} ]]; then
  BOLD=$'\e[1m' PLAIN=$'\e[0m'
else
  BOLD='' PLAIN=''
fi

# A machine set up by a minimal image may lack both in the environment.
export HOME="${HOME:-/root}"
export PATH="$PATH:/usr/local/go/bin:/usr/local/sbin:/usr/sbin:/sbin"

title() { printf '\n%s== %s%s\n' "$BOLD" "$*" "$PLAIN"; }
warn() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }
die() {
  warn "$@"
  exit 1
}

# at_end COMMAND: run it when the script ends, by itself or by a signal.
at_end() {
  # shellcheck disable=SC2064 # the command of now
  trap "$1" EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM
}

# become_root SCRIPT [ARG...]: start the script again as root, because mounting needs it. sudo
# drops the environment, so the settings of the scripts are passed on by name.
become_root() {
  [[ $EUID -eq 0 ]] && return
  command -v sudo >/dev/null || die "this needs root: run it as root or install sudo"
  local name settings=("PATH=$PATH")
  for name in JUICEFS JVSFS_REQUIRE_FUSE JVSFS_BINARY JVSFS_RACE JVSFS_TEST_DIR JVSFS_TEST_TRANSPORT JVSFS_TEST_MINUTES JVSFS_IMAGE_CACHE CASES_LIMIT FRESH_SUITES FRESH_TREES \
    NO_COLOR GOPROXY GOSUMDB http_proxy https_proxy no_proxy; do
    [[ -z ${!name:-} ]] || settings+=("$name=${!name}")
  done
  exec sudo env "${settings[@]}" bash "$@"
}

# to_its_end COMMAND...: run a command that cleans up by itself when it gets a signal. One
# that this script gets is handed on, and the end of the command is waited for.
to_its_end() {
  local child code=0
  "$@" &
  child=$!
  trap 'kill "$child" 2>/dev/null || true' INT TERM HUP
  while kill -0 "$child" 2>/dev/null; do
    code=0
    wait "$child" || code=$?
  done
  trap - INT TERM HUP
  return "$code"
}

# present WHAT: a command, or a file by absolute path.
present() {
  if [[ $1 == /* ]]; then [[ -e $1 ]]; else command -v "$1" >/dev/null; fi
}

# install_missing WHAT:PACKAGE...: install the Debian package of each WHAT that is
# not there. Nothing is asked of apt, or of the network, when all are.
install_missing() {
  local pair log packages=()
  for pair in "$@"; do
    present "${pair%%:*}" || packages+=("${pair#*:}")
  done
  ((${#packages[@]})) || return 0
  command -v apt-get >/dev/null || die "please install what belongs to: ${packages[*]}"
  title "Installing ${packages[*]}"
  log=$(mktemp)
  if ! apt_install "${packages[@]}" >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    die "could not install: ${packages[*]}"
  fi
  rm -f "$log"
}

# without_services COMMAND...: what it installs starts no service, as Debian's policy-rc.d has it. One that is there is left alone.
without_services() {
  local policy=/usr/sbin/policy-rc.d status=0
  if [[ -e $policy ]]; then
    "$@"
    return
  fi
  printf '#!/bin/sh\nexit 101\n' >"$policy" && chmod 755 "$policy"
  ("$@") || status=$? # in a shell of its own: it may end that
  rm -f "$policy"
  return "$status"
}

apt_install() {
  export DEBIAN_FRONTEND=noninteractive
  local wait=(-o DPkg::Lock::Timeout=300) # another apt, as of unattended upgrades, ends some time
  # Lists that are there already may do; they are fetched when they do not.
  apt-get "${wait[@]}" install -qq -y --no-install-recommends "$@" ||
    { apt-get "${wait[@]}" update -qq && apt-get "${wait[@]}" install -qq -y --no-install-recommends "$@"; }
}

# need_go DIR: see to a go command that builds the module in DIR. One that is too old (from
# 1.21 on) may fetch the right one by itself; where that does not help, Debian's is installed
# and fetches it as a module.
need_go() {
  go_builds "$1" && return
  fetch_go "${GO_TROUBLE:-}"
  go_builds "$1" || die "Go >= $NEED_GO is needed: $GO_TROUBLE (see https://go.dev/dl/)"
}

# go_builds DIR: the go command is new enough. Leaves what is wrong in $GO_TROUBLE.
go_builds() {
  local have
  GO_TROUBLE="there is no go command"
  command -v go >/dev/null || return
  if ! have=$(cd "$1" && go env GOVERSION 2>&1); then
    GO_TROUBLE=$have
    return 1
  fi
  have=${have#go}
  GO_TROUBLE="this is $have"
  [[ $(printf '%s\n' "$NEED_GO" "$have" | sort -V | head -n 1) == "$NEED_GO" ]]
}

# fetch_go WHY: take the toolchain from the module proxy, with whatever go there is (1.19
# does). It is checked against Go's checksum database. Modules have no permissions, so its
# programs get theirs here. The next run finds it in the module cache.
fetch_go() {
  local module dir
  if ! command -v go >/dev/null; then
    command -v apt-get >/dev/null || die "Go >= $NEED_GO is needed: $1 (see https://go.dev/dl/)"
    install_missing go:golang-go /etc/ssl/certs/ca-certificates.crt:ca-certificates
  fi
  module=golang.org/toolchain@v0.0.1-go$FETCH_GO.linux-$(GOTOOLCHAIN=local go env GOARCH)
  dir=$(cd / && GOTOOLCHAIN=local go env GOMODCACHE)/$module
  if [[ ! -x $dir/bin/go ]]; then
    title "Fetching Go $FETCH_GO, for $1"
    (cd / && GOFLAGS='' GOTOOLCHAIN=local go mod download "$module") ||
      die "Go >= $NEED_GO is needed, and it could not be fetched (see https://go.dev/dl/)"
    find "$dir/bin" "$dir/pkg/tool" -type f -exec chmod a+x {} +
  fi
  export PATH="$dir/bin:$PATH" GOTOOLCHAIN=local
  unset GOROOT
  hash -r
}

# need_fuse: see to /dev/fuse, as far as that can be done from here.
need_fuse() {
  [[ -c /dev/fuse ]] || modprobe fuse 2>/dev/null || true
  [[ -c /dev/fuse ]] && return
  warn "there is no /dev/fuse: the kernel lacks FUSE, or this container was not given the device"
  return 1
}

# is_mounted DIR: a jvsfs mount is at DIR. Reads the table alone: a dead mount
# does not answer.
is_mounted() { findmnt -rn -t fuse.jvsfs -M "$1" >/dev/null; }

# leave_mount JVSFS DIR: unmounts it, once those who are still in there have gone.
leave_mount() {
  local tries
  for ((tries = 0; tries < 40; tries++)); do
    # In a trap a bare return has the status from before the trap.
    if timeout -k 5 60 "$1" umount "$2" >/dev/null 2>&1; then return 0; fi
    sleep 0.5
  done
  warn "$2 is still mounted"
  return 1
}
