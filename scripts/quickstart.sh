#!/usr/bin/env bash
# Shows jvsfs at work, step by step, and checks that every step does what it says.
#
#   scripts/quickstart.sh         in a sample directory of its own
#   scripts/quickstart.sh DIR     over DIR: adds one file of its own to it, and
#                                 removes it again; DIR is unmounted at the end
#
# Needs no root where fusermount3, /dev/fuse and Go are ready for users and DIR is one's own;
# else it asks sudo. A terminal is not needed. With JVSFS_BINARY=FILE nothing is built.
# Exits non-zero when a step goes otherwise.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"

(($# <= 1)) || die "usage: scripts/quickstart.sh [DIR]"
if (($#)); then
  [[ -d $1 ]] || die "$1 is not a directory"
  set -- "$(cd "$1" && pwd -P)"
fi

# as_user [DIR]: everything is there for a mount without root.
as_user() {
  local tool
  for tool in fusermount3 findmnt setsid; do present "$tool" || return; done
  [[ -r /dev/fuse && -w /dev/fuse ]] || return
  (($# == 0)) || [[ -O $1 ]] || return
  [[ -n ${JVSFS_BINARY:-} ]] || go_builds "$root"
}
as_user "$@" || become_root "$here/quickstart.sh" "$@"
export LC_ALL=C # the messages of sh are looked at

step=0
step() {
  step=$((step + 1))
  title "$step. $*"
}
fail() { die "step $step went otherwise: $*"; }

# shown COMMAND...: the command as it could be typed.
shown() {
  local word line=''
  for word in "$@"; do
    [[ $word != "$bin" ]] || word=jvsfs
    case $word in
    *\'*) line+=" \"$word\"" ;;
    *[!A-Za-z0-9_./:=-]*) line+=" '$word'" ;;
    *) line+=" $word" ;;
    esac
  done
  printf '$%s\n' "$line"
}

# A command that hangs must fail the demonstration, not hang it.
bounded() { timeout -k 5 60 "$@"; }

run() {
  shown "$@"
  bounded "$@"
}

# refused COMMAND...: runs it as a session of its own, so that nothing ties it to the
# holder, and succeeds when it got "Read-only file system".
refused() {
  local said
  shown setsid "$@"
  if said=$(bounded setsid --wait "$@" 2>&1); then
    printf '%s\n' "$said"
    fail "the write was not refused"
  fi
  printf '%s\n' "$said"
  [[ $said == *"Read-only file system"* ]] || fail "want 'Read-only file system'"
}

work=$(mktemp -d "${TMPDIR:-/tmp}/jvsfs-quickstart.XXXXXX")
bin=$work/bin/jvsfs
dir='' file='' holder=''

# clean undoes everything, in any state. Nothing is deleted below a mount that stays.
clean() {
  local status=$?
  trap - EXIT INT TERM HUP
  if [[ -n $holder ]]; then
    kill "$holder" 2>/dev/null || true
    wait "$holder" 2>/dev/null || true
  fi
  if [[ -n $dir ]] && is_mounted "$dir"; then
    bounded "$bin" umount "$dir" || bounded "$bin" umount --bare "$dir" || true
    if is_mounted "$dir"; then
      warn "$dir is still mounted; end what uses it, then: $bin umount $dir"
      warn "the binary and the log stay in $work"
      exit 1
    fi
  fi
  [[ -z $file ]] || rm -f -- "$file" "$file.new"
  if ((status != 0)) && [[ -s $work/jvsfs.log ]]; then
    warn "the end of the log:"
    tail -n 20 "$work/jvsfs.log" >&2
  fi
  rm -rf --one-file-system "$work"
  exit "$status"
}
at_end clean

install_missing fusermount3:fuse3 findmnt:util-linux setsid:util-linux
need_fuse || die "jvsfs cannot mount without /dev/fuse"

if [[ -n ${JVSFS_BINARY:-} ]]; then
  step "Take jvsfs from $JVSFS_BINARY"
  mkdir -p "${bin%/*}"
  cp -- "$JVSFS_BINARY" "$bin"
else
  install_missing /etc/ssl/certs/ca-certificates.crt:ca-certificates
  need_go "$root"
  step "Build jvsfs"
  printf '$ go build -o jvsfs ./cmd/jvsfs\n'
  (cd "$root" && CGO_ENABLED=0 go build -buildvcs=false -o "$bin" ./cmd/jvsfs)
fi

options=(--log-file "$work/jvsfs.log")
if (($#)); then
  target=$1
  [[ -z $(findmnt -rn -t fuse.jvsfs -T "$target" || true) ]] || die "$target is on a jvsfs mount already"
else
  target=$work/worktree
  mkdir "$target"
  printf 'a sample worktree\n' >"$target/README"
  options+=(--control "$work/control")
fi
# The main worktree of a repository; any other directory is a worktree itself.
worktree=$target
if [[ -d $target/.jvs && -d $target/main ]]; then worktree=$target/main; fi
name=$(mktemp -u "hello.XXXXXXXX")
name=${name##*/}.txt

step "Mount $target in place: from now on whoever writes needs the lease"
dir=$target
run "$bin" mount "$target" "${options[@]}"
is_mounted "$target" || fail "$target is not mounted"
[[ ! -e $worktree/$name ]] || fail "$worktree/$name exists"
[[ ! -e $worktree/$name.new ]] || fail "$worktree/$name.new exists"
file=$worktree/$name

# The holder writes, tells that it has, and stays until it is told to end.
mkfifo "$work/wrote" "$work/end"
exec 3<>"$work/wrote" 4<>"$work/end"

step "Hold the lease for a command, which writes"
# shellcheck disable=SC2016 # sh expands them
script='echo "the holder was here" > "$1" && echo yes > "$2" && read -r _ < "$3"'
shown "$bin" exec "$worktree" -- sh -c "echo 'the holder was here' > $name; ..."
bounded "$bin" exec "$worktree" -- sh -c "$script" sh "$file" "$work/wrote" "$work/end" 3>&- 4>&- &
holder=$!
wrote=''
while [[ -z $wrote ]] && kill -0 "$holder" 2>/dev/null; do
  read -r -t 1 -u 3 wrote || true
done
[[ $wrote == yes ]] || fail "the holder could not write"
printf 'it wrote, and it is still running\n'

step "Another process cannot write meanwhile"
# shellcheck disable=SC2016 # sh expands them
refused sh -c 'echo "an intruder" >>"$1"' sh "$file"
# shellcheck disable=SC2016
refused sh -c 'echo "an intruder" >"$1"' sh "$file.new"

step "Reads go on"
run setsid --wait cat "$file"
[[ $(<"$file") == "the holder was here" ]] || fail "the file is not what the holder wrote"

step "Ask why"
shown "$bin" explain "$file"
code=0
why=$(bounded "$bin" explain "$file") || code=$?
printf '%s\n(exit code %d)\n' "$why" "$code"
[[ $code == 10 && $why == *E_LOCK_CONFLICT* ]] || fail "want a refusal of class E_LOCK_CONFLICT and exit code 10"

step "See who holds what"
shown "$bin" status
status=$(bounded "$bin" status)
printf '%s\n' "$status"
[[ $status == *"$target"* ]] || fail "want a line for $target"

step "The command ends, the lease is free, and the other one takes its turn"
echo >&4
code=0
wait "$holder" || code=$?
holder=''
((code == 0)) || fail "the holder ended with exit code $code"
# shellcheck disable=SC2016 # sh expands it
run "$bin" exec "$worktree" -- sh -c 'echo "and now the other one" >>"$1"' sh "$file"
run cat "$file"
[[ $(<"$file") == $'the holder was here\nand now the other one' ]] || fail "want both lines"

step "Unmount"
bounded "$bin" exec "$worktree" -- rm -- "$file"
file=''
run "$bin" umount "$target"
if is_mounted "$target"; then fail "$target is still mounted"; fi
dir=''
[[ ! -e $worktree/$name ]] || fail "$worktree/$name is still there"

title "Everything went as shown"
