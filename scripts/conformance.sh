#!/usr/bin/env bash
# Compares a mount with a plain directory, case by case: suites that others wrote, and
# the cases of integration/conformance. Both lie in DIR, on the file system that is to
# be compared; the lease of the mount is held by this script.
#
#   scripts/conformance.sh DIR            everything
#   scripts/conformance.sh --quick DIR    what fits into some minutes
#   scripts/conformance.sh --limits DIR   a tree of a million files with 20,000 descriptors
#
#   --only SUITE    one suite (may be repeated): cases posixtest go python stress fio sqlite git dbench
#   --match PATTERN of the suite "cases", those whose name matches
#   --all           print the cases that are alike as well
#   --keep FILE     leave native and mount outcomes in FILE.native and FILE.mount
#   --files N       how many files --limits makes
#
# Ends with "N cases, N differ, N of them excepted"; exits non-zero when the mount does
# otherwise than the plain directory in a case that integration/conformance/exceptions
# does not list with its cause.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"
suites=$root/integration/conformance/suites

usage() { sed -n '/^#   /s/^#   //p' "${BASH_SOURCE[0]}" >&2 && exit 2; }

only=() quick='' all='' match='*' keep='' limits='' files=1000000 dir=''
parse() {
  while (($#)); do
    case $1 in
    --quick) quick=--quick ;;
    --all) all=--all ;;
    --limits) limits=1 ;;
    --only) only+=("${2:?}") && shift ;;
    --match) match=${2:?} && shift ;;
    --keep) keep=${2:?} && shift ;;
    --files) files=${2:?} && shift ;;
    -*) usage ;;
    *) [[ -z $dir ]] || usage && dir=$1 ;;
    esac
    shift
  done
  [[ -n $dir ]] || usage
}
parse "$@"
[[ -d $dir ]] || die "$dir is not a directory"
become_root "$here/conformance.sh" "$@"
dir=$(cd "$dir" && pwd -P)
export LC_ALL=C.UTF-8

# shellcheck source=integration/conformance/suites/programs.sh
. "$suites/programs.sh"
# shellcheck source=integration/conformance/suites/sqlite.sh
. "$suites/sqlite.sh"
# shellcheck source=integration/conformance/suites/git.sh
. "$suites/git.sh"

# A user that nothing belongs to, for the suites that root alone says little about.
readonly NOBODY=61234

work='' mountpoint='' bin=''
mount_it() {
  local control=$work/control options=(--log-file "$work/jvsfs.log")
  [[ -z ${JVSFS_TEST_TRANSPORT-} ]] || options+=(--transport "$JVSFS_TEST_TRANSPORT")
  mkdir -p "$work/native" "$work/backing" "$work/mnt" "$control"
  chmod 1777 "$work/native" "$work/backing"
  "$@" "$bin" mount "$work/backing" "$work/mnt" --control "$control" "${options[@]}"
  mountpoint=$work/mnt
  "$bin" lock acquire "$mountpoint" --pid $$ --purpose conformance >&2
}

clean() {
  local status=$? tries
  trap - EXIT INT TERM HUP
  if [[ -n $mountpoint ]] && is_mounted "$mountpoint"; then
    for ((tries = 0; tries < 20; tries++)); do
      if timeout -k 5 60 "$bin" umount "$mountpoint" >/dev/null 2>&1; then break; fi
      sleep 0.5
    done
    if is_mounted "$mountpoint"; then
      warn "$mountpoint is still mounted: $bin umount $mountpoint"
      exit 1
    fi
  fi
  if [[ -n $work ]]; then
    chattr -R -f -i -a "$work/native" "$work/backing" || true
    rm -rf --one-file-system "$work"
  fi
  exit "$status"
}
at_end clean

wanted() { ((${#only[@]} == 0)) || [[ " ${only[*]} " == *" $1 "* ]]; }

build() {
  export CGO_ENABLED=0 GOFLAGS="${GOFLAGS:-} -buildvcs=false"
  mkdir -p "$work/go"
  chmod 755 "$work" "$work/go"
  bin=$work/jvsfs
  (cd "$root" && go build -o "$bin" ./cmd/jvsfs && go build -o "$work/conformance" ./integration/conformance)
  wanted posixtest && build_posixtest
  wanted go && build_go
  return 0
}

suite_cases() { timeout -k 5 "${CASES_LIMIT:-5400}" "$work/conformance" run $quick --only "$match" "$1"; }

# on WHERE SUITE USER: runs a suite in a directory of its own below WHERE.
on() {
  local where=$1 suite=$2 user=$3
  local into=$work/$where/$suite$user name=$suite$user
  mkdir "$into"
  chmod 1777 "$into"
  if [[ -n $user ]]; then
    as_user "suite_$suite" "$into" | sed "s#^$suite/#$name/#"
  else
    "suite_$suite" "$into"
  fi 2>"$work/$where.$name.log" >"$work/$where.$name.out" || warn "$name in $where: exit $?"
  rm -rf "$into"
}

# as_user FUNCTION ARG...: a function of the suites as somebody without rights.
as_user() {
  export root work suites quick match
  # shellcheck disable=SC2016 # the other shell expands them
  setpriv --reuid "$NOBODY" --regid "$NOBODY" --clear-groups --inh-caps=-all \
    env HOME=/nonexistent PATH="$PATH" bash -c '. "$suites/programs.sh"; . "$suites/sqlite.sh"; . "$suites/git.sh"; "$@"' bash "$@"
}

# compare_suite SUITE USER: natively and in the mount at the same time.
compare_suite() {
  local suite=$1 user=$2 started=$SECONDS native
  title "$suite${user:+ as another user}"
  on native "$suite" "$user" &
  native=$!
  on mnt "$suite" "$user"
  wait "$native"
  printf '%d cases in %d s\n' "$(wc -l <"$work/native.$suite$user.out")" $((SECONDS - started))
}

others_too() {
  if ! setpriv --reuid "$NOBODY" --regid "$NOBODY" --clear-groups test -x "$work/native"; then
    warn "$dir is closed to other users: $1 runs as root alone"
    return
  fi
  compare_suite "$1" .user
}

prepare() {
  install_missing gcc:gcc git:git findmnt:util-linux setpriv:util-linux fusermount3:fuse3 setfacl:acl chattr:e2fsprogs \
    perl:perl-base /etc/ssl/certs/ca-certificates.crt:ca-certificates
  if wanted stress; then install_missing stress-ng:stress-ng; fi
  if wanted fio; then install_missing fio:fio; fi
  if wanted sqlite; then install_missing sqlite3:sqlite3; fi
  if wanted python; then
    install_missing /usr/bin/python3:python3
    python=$(/usr/bin/python3 -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
    install_missing "/usr/lib/$python/test/test_posix.py:lib$python-testsuite"
  fi
  if wanted dbench; then install_missing dbench:dbench /usr/share/dbench/client.txt:dbench; fi
  need_go "$root"
  need_fuse || die "jvsfs cannot mount without /dev/fuse"
  work=$(mktemp -d "$dir/conformance.XXXXXX")
  title "Build"
  build
}

run_suites() {
  local suite
  for suite in cases posixtest go python sqlite git dbench fio stress; do
    wanted "$suite" || continue
    compare_suite "$suite" ''
    case $suite in
    go | python | stress | git | posixtest) [[ $quick ]] || others_too "$suite" ;;
    esac
  done
}

summary() {
  local where
  for where in native mnt; do
    cat "$work/$where".*.out >"$work/$where.tsv"
  done
  if [[ -n $keep ]]; then
    cp "$work/native.tsv" "$keep.native"
    cp "$work/mnt.tsv" "$keep.mount"
  fi
  title "Native and mount"
  "$work/conformance" compare $all "$work/native.tsv" "$work/mnt.tsv" "$root/integration/conformance/exceptions"
}

prepare
if [[ $limits ]]; then
  # shellcheck source=integration/conformance/suites/limits.sh
  . "$suites/limits.sh"
  check_limits "$files"
  exit
fi
mount_it
run_suites
summary
