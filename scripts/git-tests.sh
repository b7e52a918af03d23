#!/usr/bin/env bash
# Runs git's own tests of worktrees, refs and locking in plain directories and in repositories
# that jvsfs mounts, and compares them test by test. The git that is tested is the installed
# one; its tests come from its source, which must have been built (make), of the same release.
#
#   scripts/git-tests.sh SOURCE DIR            git's source, and where the repositories lie
#   scripts/git-tests.sh SOURCE DIR t1400 ...  these tests alone
#
#   --layout NAME   the layout of the mounts: git (default) or tree
#   --native        the plain directories alone
#   --keep FILE     leave native and mount outcomes in FILE.native and FILE.mount
#   --logs DIR      leave what each test printed there, with -v -x
#   --all           print the tests that are alike as well
#
# JVSFS_BINARY is the jvsfs to test; without it, it is built. Ends as conformance.sh does:
# non-zero when a test passes in a plain directory and does not in a mount.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"

usage() { sed -n '/^#   /s/^#   //p' "${BASH_SOURCE[0]}" >&2 && exit 2; }

# Those that touch worktrees, refs, logs and locks, and what gc, prune, stash and rebase do to them.
readonly TESTS=(t1400 t1401 t1403 t1404 t1405 t1406 t1407 t1408 t1409 t1410 t1411 t1413 t1414 t1415 t1416 t1417 t1418
  t1430 t2400 t2401 t2402 t2403 t2404 t2405 t2406 t2407 t3200 t3210 t3400 t3420 t3903 t3904 t5304 t5312 t5510 t6500 t7112 t7406 t7900)

layout=git native='' keep='' logs='' all='' source='' dir='' tests=()
parse() {
  while (($#)); do
    case $1 in
    --layout) layout=${2:?} && shift ;;
    --native) native=1 ;;
    --keep) keep=${2:?} && shift ;;
    --logs) logs=${2:?} && shift ;;
    --all) all=--all ;;
    -*) usage ;;
    *) if [[ -z $source ]]; then source=$1; elif [[ -z $dir ]]; then dir=$1; else tests+=("$1"); fi ;;
    esac
    shift
  done
  [[ -n $source && -n $dir ]] || usage
  ((${#tests[@]})) || tests=("${TESTS[@]}")
}
parse "$@"
[[ -x $source/t/helper/test-tool ]] || die "$source is not a source of git in which make has run: t/helper/test-tool is not there"
[[ -d $dir ]] || die "$dir is not a directory"
become_root "$here/git-tests.sh" "$@"
source=$(cd "$source" && pwd -P)
dir=$(cd "$dir" && pwd -P)

work='' bin=''
clean() {
  local status=$? at
  trap - EXIT INT TERM HUP
  if [[ -n $work ]]; then
    findmnt -rn -t fuse.jvsfs -o TARGET | grep "^$work/" | while read -r at; do leave_mount "$bin" "$(printf '%b' "$at")" || status=1; done
    if findmnt -rn -t fuse.jvsfs -o TARGET | grep "^$work/"; then
      warn "these are still mounted: $bin umount ..."
      exit 1
    fi
    rm -rf --one-file-system "$work"
  fi
  exit "$status"
}
at_end clean

# A git that mounts the repository of a test as soon as the test's library has made it. Then
# the library enters it.
make_git() {
  local real
  real=$(command -v git)
  mkdir -p "$work/$1"
  if [[ $1 == native ]]; then
    ln -s "$real" "$work/$1/git"
    return
  fi
  cat >"$work/$1/git" <<EOF
#!/bin/sh
test "\$1" = init && test -n "\$REPOSITORY_TO_MOUNT" || exec '$real' "\$@"
for last; do :; done
test "\$last" = "\$REPOSITORY_TO_MOUNT" || exec '$real' "\$@"
'$real' "\$@" || exit
test -e "\$RECORDS_OF_MOUNT" && exit
mkdir "\$RECORDS_OF_MOUNT"
exec '$bin' mount '--layout=$layout' --control "\$RECORDS_OF_MOUNT" --log-file "\$RECORDS_OF_MOUNT.log" "\$last" >"\$RECORDS_OF_MOUNT.said" 2>&1
EOF
  chmod 755 "$work/$1/git"
}

# read_tap TEST: "TEST/NUMBER WHAT<TAB>OUTCOME" for each line of its output.
read_tap() {
  awk -v test="$1" '
    /^(not )?ok [0-9]+/ {
      outcome = /^not/ ? "fail" : "pass"
      if (/# TODO known breakage/) outcome = "known breakage"
      else if (/# skip/) outcome = "skip"
      sub(/^not /, ""); what = $0; sub(/^ok [0-9]+ (- )?/, "", what); sub(/ # (skip|TODO).*/, "", what)
      printf "%s/%04d %s\t%s\n", test, $2, what, outcome
    }'
}

# one WHERE SCRIPT: runs a test in a session of its own, as a harness starts a command.
one() {
  local where=$1 script=$2 name options=(--debug) out
  name=$(basename "$script" .sh)
  local top=$work/$where.trees
  out=$work/$where.$name.out
  [[ -z $logs ]] || options+=(-v -x)
  mkdir -p "$top"
  (cd "$source/t" && env -i PATH="$PATH" HOME="$top" LANG=C GIT_TEST_INSTALLED="$work/$where" TEST_OUTPUT_DIRECTORY="$top" \
    REPOSITORY_TO_MOUNT="$top/trash directory.$name" RECORDS_OF_MOUNT="$work/records.$name" \
    setsid --wait timeout -k 5 "${TEST_LIMIT:-900}" sh "./$name.sh" --root="$top" "${options[@]}" </dev/null >"$out" 2>&1) || true
  if [[ $where == mount ]] && is_mounted "$top/trash directory.$name"; then
    leave_mount "$bin" "$top/trash directory.$name"
  elif [[ $where == mount ]] && grep -q '^ok' "$out"; then
    warn "$name: its repository was not mounted: $(cat "$work/records.$name.said" 2>/dev/null)"
  fi
  rm -rf --one-file-system "$top/trash directory.$name"
  [[ -z $logs ]] || cp "$out" "$logs/$name.$where"
  read_tap "${name%%-*}" <"$out"
}

scripts_of() {
  local script
  for script in "$source/t/$1"*.sh; do
    if [[ -e $script ]]; then echo "$script"; else warn "$1: not in this release of git"; fi
  done
}

all_in() {
  local name script
  make_git "$1"
  for name in "${tests[@]}"; do
    scripts_of "$name" | while read -r script; do one "$1" "$script"; done
  done >"$work/$1.tsv"
}

run_both() {
  local plain started=$SECONDS
  all_in native &
  plain=$!
  [[ $native ]] || all_in mount
  wait "$plain"
  printf '%d tests in %d s\n' "$(wc -l <"$work/native.tsv")" $((SECONDS - started))
}

summary() {
  local where
  for where in native mount; do
    [[ -z $keep || ! -e $work/$where.tsv ]] || cp "$work/$where.tsv" "$keep.$where"
  done
  if [[ $native ]]; then
    grep -v $'\tpass$' "$work/native.tsv" || true
    return
  fi
  "$work/conformance" compare $all "$work/native.tsv" "$work/mount.tsv" "$root/integration/conformance/git-exceptions"
}

install_missing git:git findmnt:mount setsid:util-linux awk:mawk
need_go "$root"
[[ $native ]] || need_fuse || die "jvsfs cannot mount without /dev/fuse"
[[ -z $logs ]] || mkdir -p "$logs"
work=$(mktemp -d "$dir/git-tests.XXXXXX")
export CGO_ENABLED=0 GOFLAGS="${GOFLAGS:-} -buildvcs=false"
bin=$work/jvsfs
if [[ ${JVSFS_BINARY:-} ]]; then cp "$JVSFS_BINARY" "$bin"; else (cd "$root" && go build -o "$bin" ./cmd/jvsfs); fi
(cd "$root" && go build -o "$work/conformance" ./integration/conformance)
title "git's own tests, layout $layout"
run_both
summary
