#!/usr/bin/env bash
# Checks the models of the lease protocol (lease/*.pml, lease/etcd/*.pml), of the fence inside a daemon (gate/*.pml) and
# of the locks of other programs (gate/tenure/*.pml) with SPIN; installs spin and gcc when they are missing.
#
#   scripts/model.sh               every configuration: some minutes, at most 12 GB
#   scripts/model.sh --quick       small instances of the same: one to three minutes
#   scripts/model.sh [--quick] gate   those whose name begins with "gate"
#   scripts/model.sh --if-changed     small instances, and only if they, or the code of lease/ and gate/, are not as scripts/model.sum says they were
#                                     when they passed; writes it when they pass, for the commit that changes them
#
# P: no error in the whole state space. F: a rule was removed, and SPIN must find how that
# breaks the property that is named (or a known limit is shown, which is said there); the
# end of the trace is printed, and a full run leaves the traces in a directory that it names
# at the end. A model that finds nothing without its rules proves nothing with them.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"

quick='' only='' keep='' if_changed=''
for arg; do
  case $arg in
  --quick) quick=1 ;;
  --if-changed) if_changed=1 quick=1 ;;
  -*) die "usage: scripts/model.sh [--quick] [--if-changed | NAME]" ;;
  *) only=$arg ;;
  esac
done

# sum: of what the models say, and of the code that they are models of. Tests are none of it.
sum() {
  (cd "$root" && find lease gate scripts/model.sh \( -name '*.pml' -o -name '*.go' ! -name '*_test.go' -o -name model.sh \) -type f -print0 |
    LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -d ' ' -f 1)
}
now=$(sum) # what changes while they are checked has not passed
[[ $now =~ ^[0-9a-f]{64}$ ]] || die "the models cannot be read"
if [[ $if_changed && $now == "$(cat "$here/model.sum" 2>/dev/null)" ]]; then
  echo "the models, and what they are models of, are as they were when they passed"
  exit
fi

if ! present spin || ! present gcc || ! present /usr/include/stdio.h; then become_root "$here/model.sh" "$@"; fi
install_missing spin:spin gcc:gcc /usr/include/stdio.h:libc6-dev

# Two at a time, so that the bounds below hold for a machine with two processors and 12 GB.
jobs=2
(($(nproc) > 1)) || jobs=1
megabytes=5500 seconds=600
[[ -z $quick ]] || megabytes=1500 seconds=240

work=$(mktemp -d "${TMPDIR:-/tmp}/jvsfs-model.XXXXXX")
pids=()
leave() {
  ((${#pids[@]} == 0)) || kill "${pids[@]}" 2>/dev/null || true
  wait || true
  [[ $keep ]] || rm -rf "$work"
}
trap leave EXIT
trap 'exit 130' INT TERM

# build DIR SEARCH DEFINE...: the verifier of DIR/m.pml. Breadth first finds short traces.
build() {
  local dir=$1 search=$2 flags=(-w -DSAFETY -DCOLLAPSE -DVECTORSZ=512 "-DMEMLIM=$megabytes")
  shift 2
  [[ $search == dfs ]] || flags+=(-DBFS)
  # A short search is not worth what optimizing takes.
  if [[ $search == bfs || $quick ]]; then flags+=(-O0); else flags+=(-O2); fi
  (cd "$dir" && spin -a "$@" m.pml >spin.log 2>&1 && gcc "${flags[@]}" -o pan pan.c >gcc.log 2>&1)
}

# outcome DIR: P, or F with the property's letter, or why there is no answer.
outcome() {
  if grep -Eq 'max search depth too small|out of memory|memory limit|Search not completed' "$1/pan.log" &&
    ! grep -q 'errors: 1' "$1/pan.log"; then
    echo 'too big'
  elif grep -q 'errors: 0' "$1/pan.log"; then
    echo P
  elif grep -q '^pan:.*invalid end state' "$1/pan.log"; then
    echo F:E
  elif grep -q '^pan:.*assertion violated' "$1/pan.log"; then
    echo "F:$(sed -nE 's/^spin: text of failed assertion: assert\(+([A-Z])&&.*/\1/p' "$1/trace" | head -n 1)"
  else
    echo 'no answer'
  fi
}

# last_steps DIR: the end of the trace, and what it breaks.
last_steps() {
  sed -E '/^spin: (m\.pml|trail)/q' "$1/trace" | grep -E '^ *[0-9]+:' |
    grep -Ev '\[(else|IF|DO|break|\.\(goto\)|goto .*|assert.*)\]|\(state [0-9]+\)$' | tail -n 6 |
    sed -E 's/^ *[0-9]+:\tproc +([0-9]+) \((\w+):1\) m\.pml:([0-9]+) \(state [0-9]+\)/      \2 \1, line \3/' || true
  grep -hE '^spin: text of failed' "$1/trace" | sed 's/^spin: text of failed assertion/      broken/' | head -n 1 || true
}

# check NAME EXPECTED MODEL DEFINE...: one configuration, in a directory of its own.
check() {
  local name=$1 expected=$2 model=$3 dir=$work/$1 search=dfs got begun=$SECONDS states options=(-m2000000 -w26)
  shift 3
  [[ $expected == P ]] || search=bfs
  # Smaller tables are sooner made.
  if [[ $search == bfs || $quick ]]; then options=(-m200000 -w20); fi
  # A keeper of the protocol that waits for another is no error; it would give up. In the
  # daemon nothing may wait for ever.
  [[ $model != lease/* ]] || options+=(-E)
  mkdir -p "$dir"
  cp "$root/$model" "$dir/m.pml"
  if build "$dir" "$search" "$@"; then
    (cd "$dir" && ulimit -t "$seconds" && exec ./pan "${options[@]}" >pan.log 2>&1) & # of processor: other work may make it slow
    # shellcheck disable=SC2064
    trap "kill $! 2>/dev/null; exit 1" TERM # so that it does not outlive an interrupted run
    wait $! || true
    [[ ! -e $dir/m.pml.trail ]] || (cd "$dir" && spin -t -p "$@" m.pml >trace 2>&1) || true
    got=$(outcome "$dir")
  else
    touch "$dir/pan.log"
    got='no model'
    cat "$dir"/*.log >&2
  fi
  states=$(sed -nE 's/^ *([0-9.e+]+) states, stored.*/\1/p' "$dir/pan.log" | head -n 1)
  {
    printf '%-5s %-21s %-4s %-4s %12s states %4d s  %s\n' "$([[ $got == "$expected" ]] && echo ok || echo WRONG)" \
      "$name" "$expected" "$got" "${states:-?}" $((SECONDS - begun)) "$*"
    [[ $got != F* ]] || last_steps "$dir"
  } >"$dir/report"
  cat "$dir/report"
  [[ $got == "$expected" ]] || echo "$name" >>"$work/wrong"
  echo "$name" >>"$work/results"
  rm -f "$dir"/pan "$dir"/pan.? "$dir"/spin.log "$dir"/gcc.log
}

settle() { while (($(jobs -rp | wc -l))); do wait -n || true; done; }

section() {
  settle
  title "$1"
}

# model NAME EXPECTED MODEL DEFINE...: check it beside another.
model() {
  case $1 in "$only"*) ;; *) return 0 ;; esac
  while (($(jobs -rp | wc -l) >= jobs)); do wait -n || true; done
  check "$@" &
  pids+=($!)
}

p=lease/protocol.pml o=lease/offer.pml s=lease/succession.pml d=gate/drain.pml r=gate/rename.pml t=gate/tenure/tenure.pml
tiny=(-DMAXTOK=2 -DCRASHES=0)

section "Between daemons: tier A, no clocks"
if [[ $quick ]]; then
  model gate P $p "${tiny[@]}"
  model gate-crash P $p -DMAXTOK=2 -DNOWRITERS
else
  model gate-crash P $p -DMAXTOK=2 -DCRASHES=2
  model gate-tokens P $p -DMAXTOK=3
  model gate-daemons P $p -DN=3 -DMAXTOK=2 -DCRASHES=0 -DNOWRITERS
  model gate-cli P $p "${tiny[@]}" -DCLI
  model gate-foreign P $p -DNOWRITERS -DFOREIGN
fi
model gate-view P $p -DNOWRITERS -DQUIET -DMAXTOK=$((quick ? 2 : 3)) -DCRASHES=0
model gate-noex F:S $p "${tiny[@]}" -DONLYS -DM_NOEX
model gate-nosh F:S $p "${tiny[@]}" -DONLYS -DM_NOSH
model gate-noturn F:S $p "${tiny[@]}" -DONLYS -DM_NOTURN
model gate-nodrain F:S $p "${tiny[@]}" -DONLYS -DM_NODRAIN
model gate-sharedfd F:S $p "${tiny[@]}" -DONLYS -DM_SHAREDFD
model gate-reopen-nosh F:S $p "${tiny[@]}" -DONLYS -DM_REOPEN_NOSH
model gate-reopen-nolook F:S $p "${tiny[@]}" -DONLYS -DM_REOPEN_NOLOOK
model gate-goon-nosh F:S $p -DMAXTOK=3 -DCRASHES=0 -DONLYS -DM_GOON_NOSH
model gate-goon-nodrain F:S $p "${tiny[@]}" -DONLYS -DM_GOON_NODRAIN
model gate-onelook F:R $p "${tiny[@]}" -DNOWRITERS -DM_ONELOOK
model gate-resume F:R $p -DMAXTOK=3 -DNOWRITERS -DCRASHES=0 -DM_RESUME
model gate-rename F:V $p "${tiny[@]}" -DM_RENAME
model gate-reply F:K $p "${tiny[@]}" -DM_REPLY

section "Between daemons: no flock (tiers B and C), names alone"
model names P $p -DNOWRITERS -DM_NOEX -DMAXTOK=$((quick ? 2 : 3)) -DCRASHES=$((quick ? 0 : 1))
model names-view P $p -DNOWRITERS -DM_NOEX -DQUIET -DMAXTOK=$((quick ? 2 : 3)) -DCRASHES=0
model names-create F:U $p "${tiny[@]}" -DNOWRITERS -DM_NOEX -DM_CREATE
# A foreign <id>.lock leaves a gap in the tokens.
model names-nextonly F:A $p -DMAXTOK=3 -DCRASHES=0 -DNOWRITERS -DM_NOEX -DFOREIGN -DM_NEXTONLY
[[ $quick ]] || model names-foreign P $p -DNOWRITERS -DCRASHES=0 -DM_NOEX -DFOREIGN

section "Between daemons: no flock, time alone"
model time P $p -DTIMED -DMAXT=$((quick ? 7 : 10)) -DRENEWALS=$((quick ? 2 : 3))
for rule in T0 LATE MARGIN SINCE BEFORE; do
  model "time-${rule,,}" F:S $p -DTIMED -DRENEWALS=1 "-DM_$rule"
done
# No rule is removed: a write may be delayed by skew, grace and a renew interval, not by more.
model time-delay F:S $p -DTIMED -DRENEWALS=1 -DDELAY=3
model time-report P $p -DTIMED -DDELAY=99 -DREPORTED -DMAXT=$((quick ? 6 : 10)) -DRENEWALS=$((quick ? 1 : 3))
model time-nolate F:L $p -DTIMED -DDELAY=99 -DREPORTED -DRENEWALS=1 -DM_NOLATE

section "An offer to another host: tier A, no clocks"
model offer P $o -DMAXTOK=$((quick ? 2 : 4)) -DINTERRUPTS=$((quick ? 1 : 3))
[[ $quick ]] || model offer-clients P $o -DMAXTOK=2 -DCLIENTS=2
for rule in NOHOLD BROKEN EXPIRED NOLOOK FOLLOW NOGATE; do
  model "offer-${rule,,}" F:S $o -DMAXTOK=2 "-DM_$rule"
done
[[ $quick ]] || model offer-resume F:S $o -DMAXTOK=2 -DCLIENTS=2 -DM_RESUME
model offer-nosh F:R $o -DMAXTOK=2 -DM_NOSH
model offer-onelook F:R $o -DMAXTOK=2 -DM_ONELOOK
model offer-nowrite F:O $o -DMAXTOK=2 -DM_NOWRITE

section "An offer to another host: no flock, time alone"
short=(-DTIMED -DMAXT=3 -DOFFERS=1)
if [[ $quick ]]; then
  model offer-time P $o -DTIMED
else
  model offer-time P $o -DTIMED -DADOPT -DMAXT=6 -DOFFERS=3
fi
for rule in NOHOLD NOWAIT ONCE SINCE NOLOOK UNWRITTEN MEND SLOW LOOKED EARLY; do
  model "offer-time-${rule,,}" F:S $o "${short[@]}" "-DM_$rule"
done
model offer-time-adopt F:S $o "${short[@]}" -DADOPT -DM_ADOPT
model offer-time-mendlook F:S $o "${short[@]}" -DM_MENDLOOK
model offer-time-giveback F:S $o "${short[@]}" -DM_GIVEBACK
model offer-time-adoptwait F:S $o "${short[@]}" -DADOPT -DM_ADOPTWAIT

section "One daemon after another: tier A"
once=(-DRENEWALS=1)
if [[ $quick ]]; then
  model adopt P $s "${once[@]}" -DADOPT -DCLI
  model replace P $s "${once[@]}" -DREPLACE -DCRASHES=0
else
  model adopt P $s -DADOPT -DCLI -DMAXTOK=3 -DRENEWALS=3
  model replace P $s -DREPLACE
  model replace-adopt P $s "${once[@]}" -DREPLACE -DADOPT
fi
model adopt-sh F:P $s "${once[@]}" -DADOPT -DM_ADOPTSH
model adopt-noturn F:A $s "${once[@]}" -DADOPT -DM_ADOPTNOTURN
model adopt-nohead F:A $s "${once[@]}" -DADOPT -DM_NOHEAD
model adopt-extend F:D $s "${once[@]}" -DADOPT -DM_ADOPTEXTEND
model replace-nohead F:A $s "${once[@]}" -DREPLACE -DM_NOHEAD
for rule in JOINNOSH JOINLOOK; do
  model "replace-${rule,,}" F:A $s "${once[@]}" -DREPLACE -DCRASHES=0 "-DM_$rule"
done
for rule in SHAREDFD PARTNODRAIN PREDECESSOR; do
  model "replace-${rule,,}" F:S $s "${once[@]}" -DREPLACE -DCRASHES=0 "-DM_$rule"
done
for rule in STAYEXTEND NOTEEARLY; do
  model "replace-${rule,,}" F:D $s -DREPLACE -DCRASHES=0 "-DM_$rule"
done
model replace-release F:K $s "${once[@]}" -DREPLACE -DCRASHES=0 -DM_FOLLOWRELEASE

section "Leases in etcd: time alone"
e=lease/etcd/authority.pml
held=(-DHOLDS -DCRASHES=0 -DWRITERS=1 -DLEASES=1 -DMAXTOK=2 -DLATE=0 -DRENEWALS=1)
if [[ $quick ]]; then
  model etcd P $e -DHOLDS -DCRASHES=0 -DWRITERS=1 -DLEASES=1 -DMAXTOK=2 -DLATE=0 -DRENEWALS=0 -DMAXT=3
else
  model etcd P $e "${held[@]}" -DMAXT=4
fi
[[ $quick ]] || model etcd-report P $e -DHOLDS -DCRASHES=0 -DWRITERS=1 -DLEASES=1 -DMAXTOK=2 -DLATE=0 -DRENEWALS=0 -DMAXT=3 -DREPORTED
[[ $quick ]] || model etcd-stray P $e -DHOLDS -DCRASHES=0 -DWRITERS=1 -DLEASES=1 -DMAXTOK=2 -DLATE=1 -DRENEWALS=0 -DMAXT=3
model etcd-nocompare F:U $e -DHOLDS -DCRASHES=0 -DWRITERS=1 -DLEASES=1 -DMAXTOK=3 -DLATE=0 -DRENEWALS=0 -DMAXT=4 -DM_NOCOMPARE
model etcd-noalive F:S $e -DHOLDS -DCRASHES=0 -DWRITERS=1 -DLEASES=1 -DMAXTOK=2 -DLATE=0 -DRENEWALS=0 -DMAXT=1 -DONLYS -DM_NOALIVE
model etcd-nodrain F:S $e -DHOLDS -DCRASHES=0 -DWRITERS=1 -DLEASES=1 -DMAXTOK=2 -DLATE=0 -DRENEWALS=0 -DMAXT=1 -DONLYS -DM_NODRAIN
model etcd-after F:S $e "${held[@]}" -DMAXT=4 -DONLYS -DM_AFTER
for rule in WINDOW GRANTLATE; do
  model "etcd-${rule,,}" F:S $e -DCRASHES=0 -DWRITERS=1 -DLEASES=1 -DMAXTOK=2 -DLATE=0 -DRENEWALS=0 -DMAXT=4 -DONLYS "-DM_$rule"
done
model etcd-lateput F:U $e -DHOLDS -DCRASHES=0 -DWRITERS=1 -DLEASES=2 -DMAXTOK=2 -DLATE=0 -DRENEWALS=1 -DMAXT=4 -DM_LATEPUT
model etcd-remade F:S $e -DHOLDS -DCRASHES=0 -DWRITERS=1 -DLEASES=2 -DMAXTOK=2 -DLATE=0 -DRENEWALS=1 -DMAXT=4 -DONLYS -DM_REMADE
# No rule is removed: a write may be delayed by less than a third of the TTL.
model etcd-delay F:S $e -DHOLDS -DCRASHES=0 -DWRITERS=1 -DLEASES=1 -DMAXTOK=2 -DLATE=0 -DRENEWALS=0 -DMAXT=4 -DONLYS -DDELAY=2
model etcd-nolate F:L $e -DHOLDS -DCRASHES=0 -DWRITERS=1 -DLEASES=1 -DMAXTOK=2 -DLATE=0 -DRENEWALS=0 -DMAXT=4 -DREPORTED -DM_NOLATE

section "Inside a daemon"
if [[ $quick ]]; then
  model drain P $d -DTOKENS=1
else
  model drain P $d -DTOKENS=3 -DREOPENS=1
  model drain-writers P $d -DWRITERS=3 -DTOKENS=1 -DREOPENS=0
fi
for rule in ORDER NODRAIN STALEZERO SAMEEPOCH; do
  model "drain-${rule,,}" F:D $d "-DM_$rule"
done
model drain-lastleave F:E $d -DM_LASTLEAVE
if [[ $quick ]]; then
  model hold P $d -DHOLD -DWRITERS=1 -DREOPENS=0
else
  model hold P $d -DHOLD -DWRITERS=1
  model hold-writers P $d -DHOLD -DREOPENS=0 -DTRIES=1 -DTOKENS=2
fi
model hold-nodrain F:T $d -DHOLD -DWRITERS=1 -DM_HOLDNODRAIN
model hold-broken F:T $d -DHOLD -DWRITERS=1 -DM_HOLDBROKEN
model hold-closed F:T $d -DHOLD -DWRITERS=1 -DTOKENS=3 -DREOPENS=0 -DM_HOLDCLOSED
if [[ $quick ]]; then
  model free P $d -DFREE -DHANDLES -DWRITERS=0
else
  model free P $d -DFREE -DHANDLES -DWRITERS=1
  model free-again P $d -DFREE -DHANDLES -DWRITERS=1 -DSTRICT -DAGAIN
fi
for rule in NOFLAG NOOPEN FREELATE; do
  model "free-${rule,,}" F:F $d -DFREE -DWRITERS=0 "-DM_$rule"
done
# No rule is removed: a writer that found the worktree free, and slept while a lease opened and
# began to close, gets in. free-again is how it would not.
model free-strict F:F $d -DFREE -DWRITERS=1 -DSTRICT

section "A worktree's root is renamed"
one=(-DMOUNTS=0 -DRENAMES=1 -DLEASES=2) two=(-DRENAMES=1 -DLEASES=3)
if [[ $quick ]]; then
  model rename P $r "${one[@]}"
else
  model rename P $r -DMOUNTS=0 -DRENAMES=2 -DLEASES=4
fi
model rename-mounts P $r -DBOTH -DRENAMES=2 -DLEASES=$((quick ? 2 : 3))
for rule in NOFREEZE NODRAIN RULEFIRST THAWFIRST; do
  model "rename-${rule,,}" F:N $r "${one[@]}" "-DM_$rule"
done
model rename-handlefirst F:N $r "${one[@]}" -DM_HANDLEFIRST
model rename-once F:R $r -DMOUNTS=0 -DRENAMES=1 -DLEASES=3 -DM_ONCE
for rule in NOBYTE LOOKFIRST MOUNTFIRST AFTER; do
  model "rename-${rule,,}" F:N $r "${two[@]}" "-DM_$rule"
done
model rename-convert F:N $r -DRENAMES=2 -DLEASES=3 -DBOTH -DM_CONVERT

section "Locks of other programs"
small=(-DTRIES=2 -DPAST=0 -DCRASHES=0 -DIMMORTAL)
model tenure P $t -DTRIES=$((quick ? 2 : 3)) -DPAST=0 -DAFTER
if [[ ! $quick ]]; then
  model tenure-past P $t -DTRIES=2 -DUNSEEN -DALLOW -DUNKNOWN
  model tenure-rename P $t -DTRIES=2 -DRENAME -DPAST=0 -DAFTER
  model tenure-store P $t -DTRIES=3 -DSTORE -DPAST=0 -DCRASHES=0 -DAFTER
  model tenure-robbed P $t -DTRIES=2 -DALLOW -DPAST=0 -DAFTER
  model tenure-gone P $t -DTRIES=2 -DONGONE
  model tenure-flock P $t -DTRIES=2 -DFLOCK
  model tenure-record P $t -DTRIES=3 -DRECORD -DPAST=0
fi
for rule in NOTURN LOOKBEFORE NOJUDGE; do
  model "tenure-${rule,,}" F:R $t "${small[@]}" -DAFTER "-DM_$rule"
done
model tenure-replace F:N $t "${small[@]}" -DRENAME -DM_REPLACE
model tenure-nodrain F:H $t "${small[@]}" -DAFTER -DM_NODRAIN
model tenure-nofree F:D $t "${small[@]}" -DALLOW -DM_NOFREE
model tenure-nofreeunseen F:U $t "${small[@]}" -DALLOW -DUNSEEN -DM_NOFREEUNSEEN
model tenure-norobbed F:R $t "${small[@]}" -DALLOW -DAFTER -DM_NOROBBED
model tenure-believe F:U $t -DTRIES=2 -DCRASHES=0 -DIMMORTAL -DALLOW -DM_BELIEVE
model tenure-nokeep F:B $t -DTRIES=2 -DPAST=0 -DIMMORTAL -DM_NOKEEP
model tenure-nointend F:K $t -DTRIES=2 -DPAST=0 -DM_NOINTEND
model tenure-nowatch F:G $t -DTRIES=2 -DPAST=0 -DCRASHES=0 -DONGONE -DM_NOWATCH
model tenure-name F:B $t -DTRIES=2 -DCRASHES=0 -DIMMORTAL -DFLOCK -DM_NAME
model tenure-nonce F:N $t "${small[@]}" -DRECORD -DM_NONCE
# No rule is removed: who is about to make the lock when the daemon is killed is taken for the maker of one that is made past
# the mount before the next daemon serves. Its call has failed, so it does not believe that it has the lock.
model tenure-pastdown F:C $t -DTRIES=2 -DIMMORTAL -DPASTDOWN
if [[ ! $quick ]]; then
  model tenure-nocheck F:R $t -DTRIES=2 -DCRASHES=0 -DIMMORTAL -DM_NOCHECK
  model tenure-nobodys F:U $t -DTRIES=2 -DCRASHES=0 -DIMMORTAL -DUNSEEN -DM_NOBODYS
  model tenure-stale F:C $t -DTRIES=2 -DIMMORTAL -DUNSEEN -DM_STALE
  model tenure-nofile F:C $t -DTRIES=2 -DIMMORTAL -DM_NOFILE
  model tenure-forgetrobbed F:R $t -DTRIES=2 -DPAST=0 -DIMMORTAL -DALLOW -DAFTER -DM_FORGETROBBED
  model tenure-nowait F:H $t -DTRIES=2 -DPAST=0 -DIMMORTAL -DAFTER -DM_NOWAIT
  model tenure-handle F:H $t -DTRIES=3 -DPAST=0 -DCRASHES=0 -DIMMORTAL -DSTORE -DAFTER -DM_HANDLE
  model tenure-living F:R $t "${small[@]}" -DONGONE -DM_LIVING
  model tenure-removeany F:R $t -DTRIES=2 -DCRASHES=0 -DONGONE -DM_REMOVEANY
  model tenure-nonumber F:B $t -DTRIES=3 -DCRASHES=0 -DIMMORTAL -DFLOCK -DM_NONUMBER
  model tenure-flockkept F:C $t -DTRIES=2 -DPAST=0 -DIMMORTAL -DFLOCK -DM_FLOCKKEPT
  model tenure-earlyread F:N $t -DTRIES=4 -DPAST=0 -DCRASHES=0 -DIMMORTAL -DRECORD -DM_EARLYREAD
  model tenure-expired F:N $t "${small[@]}" -DRECORD -DM_EXPIRED
fi

section "Summary"
pids=()
[[ -s $work/results ]] || die "no configuration has a name that begins with $only"
wrong=0
[[ ! -s $work/wrong ]] || wrong=$(wc -l <"$work/wrong")
printf '%d configurations, %d not as expected, %d s\n' "$(wc -l <"$work/results")" "$wrong" "$SECONDS"
if [[ ! $quick ]] || ((wrong)); then
  keep=1
  printf 'traces: %s\n' "$work"
fi
((wrong == 0)) || exit 1
if [[ $if_changed && -z $only ]]; then
  echo "$now" >"$here/model.sum"
  echo "scripts/model.sum is written: commit it with the change"
fi
