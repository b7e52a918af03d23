# Shared by the scripts of this directory: say, install what is missing, find Go.
# shellcheck shell=bash

# Go's oldest release that builds this module, as in go.mod.
readonly NEED_GO=1.26

# What the tests drive, as WHAT:PACKAGE for install_missing.
# shellcheck disable=SC2034 # used by the scripts
readonly TEST_TOOLS=(
  /etc/ssl/certs/ca-certificates.crt:ca-certificates
  gcc:gcc /usr/include/stdio.h:libc6-dev make:make git:git
  fusermount3:fuse3 findmnt:mount setsid:util-linux ps:procps awk:mawk systemd-analyze:systemd
  setfattr:attr setfacl:acl chattr:e2fsprogs inotifywait:inotify-tools strace:strace
  rsync:rsync tar:tar tmux:tmux vim:vim sqlite3:sqlite3 node:nodejs
  /usr/include/lmdb.h:liblmdb-dev
  groff:groff-base /usr/share/bash-completion/bash_completion:bash-completion
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

# become_root SCRIPT [ARG...]: start the script again as root; mounting needs it.
become_root() {
  [[ $EUID -eq 0 ]] && return
  command -v sudo >/dev/null || die "this needs root: run it as root or install sudo"
  exec sudo env PATH="$PATH" JVSFS_REQUIRE_FUSE="${JVSFS_REQUIRE_FUSE:-}" bash "$@"
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

apt_install() {
  export DEBIAN_FRONTEND=noninteractive
  # Lists that are there already may do; they are fetched when they do not.
  apt-get install -qq -y --no-install-recommends "$@" ||
    { apt-get update -qq && apt-get install -qq -y --no-install-recommends "$@"; }
}

# need_go DIR: fail unless the go command can build the module in DIR. An older go
# (from 1.21 on) fetches the right one by itself when GOTOOLCHAIN allows it.
need_go() {
  local have
  command -v go >/dev/null ||
    die "Go >= $NEED_GO is needed and there is no go command: see https://go.dev/dl/ (unpack into /usr/local)"
  if ! have=$(cd "$1" && go env GOVERSION 2>&1); then
    die "Go >= $NEED_GO is needed: $have (try GOTOOLCHAIN=auto, or see https://go.dev/dl/)"
  fi
  have=${have#go}
  [[ $(printf '%s\n' "$NEED_GO" "$have" | sort -V | head -n 1) == "$NEED_GO" ]] ||
    die "Go >= $NEED_GO is needed, and this is $have (try GOTOOLCHAIN=auto, or see https://go.dev/dl/)"
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
