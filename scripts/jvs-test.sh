#!/usr/bin/env bash
# Takes snapshots with the real JVS through a mount: while the lease is stolen from it, and beside a writer. It fetches nothing
# and does not build JVS: DIR has it, of the releases with locks (jvs snapshot) or of today (jvs save). Needs root.
#
#   scripts/jvs-test.sh DIR                DIR is the program, or has jvs, bin/jvs, NAME/jvs or NAME/bin/jvs in it
#   scripts/jvs-test.sh --rounds N DIR     N snapshots beside a writer (200), and a tenth of that (at least 2) with a theft,
#                                          and without jvsfs quiesce
#
# For each JVS that it finds:
#   theft     the lease is stolen in the middle of the copy: JVS is refused when it publishes (.READY), and nothing is published
#   quiesce   a writer keeps an invariant over several files, and snapshots are taken in jvsfs quiesce: none is torn
#   bare      the same without jvsfs quiesce, to compare: nothing is demanded
# At the end of each JVS says that all its snapshots are sound (jvs verify, jvs doctor --strict).
#
# JVSFS_BINARY is the jvsfs to test; without it, it is built. Ends with a table; non-zero when something was published after a
# theft, a snapshot in jvsfs quiesce is torn or could not be taken, or JVS finds fault with one.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"

usage() { sed -n '/^#   s/s/^#   //p' "${BASH_SOURCE[0]}" >&2 && exit 2; }

rounds=200 dir=''
parse() {
  while (($#)); do
    case $1 in
    --rounds) rounds=${2:-} && shift ;;
    -*) usage ;;
    *) [[ -z $dir ]] || usage && dir=$1 ;;
    esac
    (($#)) && shift
  done
  [[ -n $dir && $rounds =~ ^[1-9][0-9]*$ ]] || usage
}
parse "$@"
[[ -e $dir ]] || die "$dir is not there"
become_root "$here/jvs-test.sh" "$@"
few=$((rounds / 10 > 2 ? rounds / 10 : 2))
export LC_ALL=C.UTF-8

work='' bin='' at='' writer='' holder=''
clean() {
  local status=$?
  trap - EXIT INT TERM HUP
  end_holder
  end_writer
  if [[ -n $at ]] && is_mounted "$at" && ! leave_mount "$bin" "$at"; then exit 1; fi
  [[ -z $work ]] || rm -rf --one-file-system "$work"
  exit "$status"
}
at_end clean

# The files that the writer keeps alike, one after the other, and what lies between them: JVS copies by name.
readonly FILES=(000 100 200 300) FILLERS=40

# prepare NAME [OPTION...]: a repository that is mounted in place at $at, because JVS notes where it lies; its payload is $payload.
prepare() {
  local name=$1 f i
  shift
  at=$work/$name payload=$work/$name$below
  mkdir "$at-records"
  (cd "$work" && "jvs_init_$form" "$name") >"$work/said" || die "jvs init: $(cat "$work/said")"
  for f in "${FILES[@]}"; do
    printf '%010d\n' 0 >"$payload/$f"
    for ((i = 10; i < 10 + FILLERS; i++)); do head -c 8192 /dev/zero >"$payload/$f-$i"; done
  done
  local records=(--control "$at-records")
  [[ $form == folder ]] || records=() # they are in .jvs/locks
  "$bin" mount "$at" --on-free deny "${records[@]}" --log-file "$work/$name.log" "$@" >/dev/null
}

# The two forms of JVS. A command of JVS runs in the payload.
jvs_init_locks() { "$jvs" init "$1"; }
jvs_init_folder() { mkdir "$1" && "$jvs" init "$1"; }
# Its lock is another's than the lease, and lasts for five minutes.
# shellcheck disable=SC2034 # by way of $take
readonly snapshot_locks='jvs lock release >/dev/null 2>&1; jvs lock acquire >/dev/null && exec jvs snapshot one'
# shellcheck disable=SC2034 # by way of $take
readonly snapshot_folder='exec jvs save -m one'
sound_locks() {
  (cd "$payload" && "$jvs" verify --all) >"$work/said" 2>&1 && ! grep -v '  OK$' "$work/said"
}
sound_folder() { (cd "$payload" && "$jvs" doctor --strict --json) >"$work/said" 2>&1 && grep -q '"healthy": true' "$work/said"; }

ready() { find "$at/.jvs/snapshots" -mindepth 2 -maxdepth 2 -name .READY | wc -l; }

finish() {
  local sound='sound'
  "sound_$form" || { sound='NOT SOUND' worse=1 && tail -n 5 "$work/said" >&2; }
  leave_mount "$bin" "$at"
  rm -rf --one-file-system "$at" "$at-records"
  at=''
  printf '| %s | %s | %s | %s |\n' "$called" "$1" "$2" "$sound" >>"$work/table"
}

# --- theft

end_holder() {
  [[ -n $holder ]] || return 0
  kill -KILL -- "-$holder" 2>/dev/null || true
  wait "$holder" 2>/dev/null || true
  holder=''
}

# begin_copy: a process with the lease takes a snapshot, and is stopped while JVS copies. It fails if JVS was too fast for that.
begin_copy() {
  local before after until=$((SECONDS + 60))
  own=$(ready)
  before=$(ls "$at/.jvs/snapshots")
  mkfifo "$work/gate"
  # shellcheck disable=SC2016 # of the other shell
  setsid sh -c 'read -r _ <"$0"; cd "$1" && (eval "$2")' "$work/gate" "$payload" "${!take}" >"$work/copy" 2>&1 &
  holder=$!
  "$bin" lock acquire --pid "$holder" "$payload" >/dev/null
  echo go >"$work/gate"
  rm "$work/gate"
  while after=$(ls "$at/.jvs/snapshots") && [[ $after == "$before" ]]; do
    if ! kill -0 "$holder" 2>/dev/null || ((SECONDS > until)); then return 1; fi
  done
  kill -STOP -- "-$holder" 2>/dev/null && [[ $(ready) == "$own" ]]
}

# steal: the thief writes what was there already. JVS of today looks by itself whether the payload has changed, and that is not
# what is tested.
steal() {
  local until=$((SECONDS + 120))
  # shellcheck disable=SC2016 # of the other shell
  until "$bin" exec --steal "$payload" -- sh -c 'for f; do printf "%010d\n" 0 1<>"$f"; done' steal "${FILES[@]/#/$payload/}" 2>"$work/said"; do
    ((SECONDS < until)) || die "the lease is not stolen: $(cat "$work/said")"
    sleep 0.2
  done
}

theft() {
  local refused=0 missed=0 other=0 published=0 own code
  prepare theft --lease-duration 2s --renew-interval 500ms --max-clock-skew 100ms --steal-grace 100ms
  while ((refused + other + published < few)); do
    if ! begin_copy; then
      kill -CONT -- "-$holder" 2>/dev/null || true
      wait "$holder" || die "jvs: $(cat "$work/copy")"
      holder='' missed=$((missed + 1))
      ((missed <= few)) || die "JVS copies too fast to be stopped in between"
      continue
    fi
    steal
    kill -CONT -- "-$holder"
    code=0
    wait "$holder" || code=$?
    holder=''
    if (($(ready) > own)); then
      published=$((published + 1))
    elif ((code != 0)) && grep -qi 'read-only file system' "$work/copy"; then
      refused=$((refused + 1))
    else
      other=$((other + 1))
      warn "exit code $code: $(cat "$work/copy")"
    fi
  done
  ((refused == few)) || worse=1
  finish "lease stolen in the copy, $few times" "$refused refused when publishing, $other otherwise, $published published"
}

# --- beside a writer

begin_writer() {
  # shellcheck disable=SC2016 # of the other shell
  setsid "$bin" exec "$payload" -- bash -c 'while :; do n=$((n + 1)); for f; do printf "%010d\n" $n 1<>"$f"; done; done' writer "${FILES[@]/#/$payload/}" >"$work/writer" 2>&1 &
  writer=$!
  local until=$((SECONDS + 60))
  until [[ $(head -c 10 "$payload/${FILES[0]}") != 0000000000 ]]; do
    if ! kill -0 "$writer" 2>/dev/null || ((SECONDS > until)); then die "the writer does not write: $(cat "$work/writer")"; fi
  done
}

end_writer() {
  [[ -n $writer ]] || return 0
  kill -TERM "$writer" 2>/dev/null || true
  wait "$writer" 2>/dev/null || true
  writer=''
}

# torn SNAPSHOT: no state of the payload. The writer is at the same number in all files, or has not yet come to the last ones.
torn() {
  local f n first='' last=''
  for f in "${FILES[@]}"; do
    n=$((10#$(head -c 10 "$1/$f")))
    first=${first:-$n}
    if [[ -n $last ]] && ((n > last)); then return 0; fi
    last=$n
  done
  states+=("$first")
  ((first - last > 1))
}

# beside NAME ROUNDS: snapshots beside a writer, in jvsfs quiesce if that is the name.
beside() {
  local name=$1 wanted=$2 failed=0 broken=0 whole=0 states=() seen within=() one i
  prepare "$name"
  [[ $name == bare ]] || within=("$bin" quiesce --wait 5m --for 10m "$payload" --)
  begin_writer
  for ((i = 0; i < wanted; i++)); do
    # shellcheck disable=SC2016 # of the other shell
    if ! "${within[@]}" sh -c 'cd "$0" && eval "$1"' "$payload" "${!take}" >"$work/said" 2>&1; then
      failed=$((failed + 1))
      warn "$name: $(tail -n 3 "$work/said")"
    fi
  done
  end_writer
  for one in "$at"/.jvs/snapshots/*/; do
    [[ -e $one/.READY ]] || continue
    if torn "$one"; then broken=$((broken + 1)); else whole=$((whole + 1)); fi
  done
  seen=$(printf '%s\n' "${states[@]}" | sort -u | wc -l)
  [[ $name == bare ]] || ((whole == wanted && seen > 1)) || worse=1
  outcome="$whole whole, $broken torn, $failed failed; states seen: $seen"
}

# --- all

one() {
  local program=$1 form called below take jvs payload outcome
  case $("$program" --help 2>&1) in
  *$'\n  snapshot '*) form=locks called='JVS with locks' below=/main ;;
  *$'\n  save '*) form=folder called='JVS of today' below='' ;;
  *) die "$program is no JVS that has jvs snapshot or jvs save" ;;
  esac
  take=snapshot_$form
  mkdir -p "$work/bin"
  cp "$program" "$work/bin/jvs" # jvsfs knows JVS by this name
  jvs=$work/bin/jvs
  title "$called: $program"
  theft
  beside quiesce "$rounds"
  finish "beside a writer, in jvsfs quiesce, $rounds times" "$outcome"
  beside bare "$few"
  finish "beside a writer, without it, $few times" "$outcome"
}

found() {
  local file
  for file in "$dir" "$dir"/jvs "$dir"/bin/jvs "$dir"/*/jvs "$dir"/*/bin/jvs; do
    if [[ -f $file && -x $file ]]; then realpath "$file"; fi
  done | sort -u
}
mapfile -t programs < <(found)
((${#programs[@]})) || die "$dir has no jvs: build one, and name it, or the directory with bin/jvs"

install_missing findmnt:mount setsid:util-linux
need_fuse || die "jvsfs cannot mount without /dev/fuse"
work=$(mktemp -d "${TMPDIR:-/tmp}/jvs-test.XXXXXX")
bin=$work/jvsfs worse=''
if [[ ${JVSFS_BINARY:-} ]]; then
  cp "$JVSFS_BINARY" "$bin"
else
  need_go "$root"
  (cd "$root" && CGO_ENABLED=0 GOFLAGS="${GOFLAGS:-} -buildvcs=false" go build -o "$bin" ./cmd/jvsfs)
fi
export PATH="$work/bin:$PATH"
for program in "${programs[@]}"; do one "$program"; done
title "Snapshots of JVS through a mount"
printf '| program | what | outcome | JVS says |\n|---|---|---|---|\n'
cat "$work/table"
[[ -z $worse ]]
