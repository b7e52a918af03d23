#!/usr/bin/env bash
# Runs the own tests of programs that have lock files, with their files in a plain directory and in a mount that has the
# rule of the program, and compares them test by test. It fetches nothing and builds none of the programs: DIR has them.
#
#   scripts/field-test.sh DIR              all that DIR has
#   scripts/field-test.sh DIR af agency    these alone
#
#   --native        the plain directory alone
#   --keep FILE     leave the outcomes in FILE.NAME.native and FILE.NAME.mount
#
# DIR/NAME          a checkout of a program, built as far as its tests need it
# DIR/NAME.test     the line of sh that runs its tests in there. What it prints is read as `go test -json`, as cargo's
#                   "test NAME ... ok", or as lines of "ok WHAT" and "not ok WHAT"
# DIR/NAME.rules    the rules of the mount. Without it they are the preset NAME, where jvsfs has it. A rule must match
#                   wherever it is: tests make directories of their own in TMPDIR, which is all that is mounted
# DIR/NAME.refused  names of tests that do on purpose what a rule refuses, one a line, and after a # why
#
# JVSFS_BINARY is the jvsfs to test; without it, it is built. Ends with a table; non-zero when a test passes in the plain
# directory and does not in the mount (but for those of NAME.refused), or when the rules were never asked. What was
# refused in a mount where a test failed is told from its audit.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"

usage() { sed -n '/^#   /s/^#   //p' "${BASH_SOURCE[0]}" >&2 && exit 2; }

native='' keep='' dir='' names=()
parse() {
  while (($#)); do
    case $1 in
    --native) native=1 ;;
    --keep) keep=${2:?} && shift ;;
    -*) usage ;;
    *) if [[ -z $dir ]]; then dir=$1; else names+=("$1"); fi ;;
    esac
    shift
  done
  [[ -n $dir ]] || usage
}
parse "$@"
[[ -d $dir ]] || die "$dir is not a directory"
become_root "$here/field-test.sh" "$@"
dir=$(cd "$dir" && pwd -P)
export LC_ALL=C.UTF-8

work='' bin=''
clean() {
  local status=$?
  trap - EXIT INT TERM HUP
  if [[ -n $work ]]; then
    if is_mounted "$work/mount" && ! leave_mount "$bin" "$work/mount"; then exit 1; fi
    rm -rf --one-file-system "$work"
  fi
  exit "$status"
}
at_end clean

# rules_of NAME: the options of the mount, and how the table calls them.
rules_of() {
  rules=() called='mode shared, no rule'
  if [[ -e $dir/$1.rules ]]; then
    rules=(--rules "$dir/$1.rules") called=$1.rules
  elif "$bin" rules show "$1" >/dev/null 2>&1; then
    rules=(--rules "$1") called="preset $1"
  fi
}

# read_outcomes: "TEST<TAB>OUTCOME" for each test that standard input tells of, sorted.
read_outcomes() {
  awk '
    function field(name,    s) {
      if (!match($0, "\"" name "\":\"[^\"]*\"")) return ""
      return substr($0, RSTART + length(name) + 4, RLENGTH - length(name) - 5)
    }
    /^\{/ {
      action = field("Action"); test = field("Test")
      if (test != "" && (action == "pass" || action == "fail" || action == "skip")) printf "%s %s\t%s\n", field("Package"), test, action
      next
    }
    /^ +Running / { sub(/^ +Running (unittests )?/, ""); sub(/\(.*\//, ""); sub(/-[0-9a-f]+\)$/, ""); binary = $0; next }
    /^test .* \.\.\. / {
      outcome = /ok$/ ? "pass" : (/ignored/ ? "skip" : "fail")
      sub(/^test /, ""); sub(/ \.\.\. .*/, ""); printf "%s %s\t%s\n", binary, $0, outcome; next
    }
    /^ *(not )?ok / { outcome = /^ *not/ ? "fail" : "pass"; sub(/^ *(not )?ok +/, ""); printf "%03d %s\t%s\n", ++n, $0, outcome }
  ' | LC_ALL=C sort
}

# tests NAME WHERE: runs its tests with WHERE as the directory of temporary files. go builds elsewhere; GOTMPDIR would
# also be where testing's TempDir is (since Go 1.26), so the tests do not see it.
tests() {
  local name=$1 where=$2
  mkdir -p "$work/tmp"
  (cd "$dir/$name" && TMPDIR=$work/$where GOTMPDIR=$work/tmp GOFLAGS="${GOFLAGS:-} '-exec=env -u GOTMPDIR'" setsid --wait \
    timeout -k 5 "${FIELD_LIMIT:-1200}" sh "$dir/$name.test" </dev/null >"$work/$name.out" 2>&1) || true
  read_outcomes <"$work/$name.out" >"$work/$name.$where"
  [[ -s $work/$name.$where ]] || { warn "$name: no test in what $name.test printed:" && tail -n 5 "$work/$name.out" >&2; }
  [[ -z $keep ]] || cp "$work/$name.$where" "$keep.$name.$where"
}

count() { awk -F'\t' -v what="$2" '$2 == what { n++ } END { print n + 0 }' "$1"; }

# differing NAME: the tests that pass in the plain directory and do not in the mount.
differing() {
  LC_ALL=C join -t $'\t' -a 1 -e 'not run' -o 0,1.2,2.2 "$work/$1.native" "$work/$1.mount" |
    awk -F'\t' '$2 == "pass" && $3 != "pass" { print $1 "\t" $3 }'
}

# sum METRIC: over all its labels, of the mount that serves.
sum() {
  curl --silent --show-error --fail --unix-socket "$work/metrics" http://localhost/metrics |
    awk -v name="$1" 'index($0, name "{") == 1 { n += $NF } END { printf "%d", n }'
}

# judge NAME: how many tests are worse in the mount, and how many of those are of NAME.refused. Each is told, and what
# was refused.
judge() {
  worse=0 meant=0
  differing "$1" >"$work/differ"
  local test outcome
  while IFS=$'\t' read -r test outcome; do
    if [[ -e $dir/$1.refused ]] && grep -qxF "$test" < <(sed 's/ *#.*//' "$dir/$1.refused"); then
      echo "does on purpose what is refused: $test" && ((++meant))
    else
      echo "passes in the plain directory alone: $test ($outcome)" && ((++worse))
    fi
  done <"$work/differ"
  ((worse + meant == 0)) || "$bin" audit tail --lines 1000 "$work/mount" | grep write_refused | tail -n 20 || true
}

in_mount() {
  "$bin" mount "$work/mount" --mode shared --control "$work/control" --log-file "$work/$1.log" --metrics "unix:$work/metrics" "${rules[@]}"
  tests "$1" mount
  judge "$1"
  locks=$(sum jvsfs_rule_tenures_total) refusals=$(sum jvsfs_refusals_total)
  leave_mount "$bin" "$work/mount"
  ((worse == 0)) || bad=1
  if ((${#rules[@]} && locks == 0)); then warn "$1: no lock was taken that the rules tell of" && bad=1; fi
}

one() {
  local name=$1 rules called plain worse meant locks refusals
  title "$name"
  mkdir -p "$work/native" "$work/mount" "$work/control"
  tests "$name" native
  plain="$(count "$work/$name.native" pass) | $(count "$work/$name.native" fail)"
  if [[ $native ]]; then
    printf '| %s | %s |\n' "$name" "$plain" >>"$work/table"
    return
  fi
  rules_of "$name"
  in_mount "$name"
  rm -rf --one-file-system "$work/native" "$work/mount" "$work/control"
  printf '| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n' "$name" "$plain" "$(count "$work/$name.mount" pass)" \
    "$(count "$work/$name.mount" fail)" "$worse" "$meant" "$locks" "$refusals" "$called" >>"$work/table"
}

if ((${#names[@]} == 0)); then
  for file in "$dir"/*.test; do [[ ! -e $file ]] || names+=("$(basename "$file" .test)"); done
fi
((${#names[@]})) || die "$dir has no NAME.test"
for name in "${names[@]}"; do
  [[ -d $dir/$name && -e $dir/$name.test ]] || die "$dir has no $name with a $name.test"
done

install_missing findmnt:mount setsid:util-linux awk:mawk curl:curl
[[ $native ]] || need_fuse || die "jvsfs cannot mount without /dev/fuse"
work=$(mktemp -d "${TMPDIR:-/tmp}/field-test.XXXXXX")
chmod 755 "$work"
bin=$work/jvsfs bad=''
if [[ $native ]]; then
  :
elif [[ ${JVSFS_BINARY:-} ]]; then
  cp "$JVSFS_BINARY" "$bin"
else
  need_go "$root"
  (cd "$root" && CGO_ENABLED=0 GOFLAGS="${GOFLAGS:-} -buildvcs=false" go build -o "$bin" ./cmd/jvsfs)
fi
for name in "${names[@]}"; do one "$name"; done
title "The programs' own tests"
if [[ $native ]]; then
  printf '| program | passed | failed |\n|---|---|---|\n'
else
  printf '| program | plain: passed | failed | mount: passed | failed | worse | meant | locks taken | refusals | rules |\n'
  printf '|---|---|---|---|---|---|---|---|---|---|\n'
fi
cat "$work/table"
[[ -z $bad ]]
