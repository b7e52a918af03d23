# The parts of scripts/test.sh: what runs, how long it takes, what it says in the end. Needs scripts/lib.sh, $root and $scratch.
# shellcheck shell=bash disable=SC2154 # variables of test.sh

passed=0 failed=0 skipped=0
section_titles=() section_seconds=() section_cpu=() section_load=()
broken=()   # what failed, a line each
left_out=() # what this machine cannot do, a line each

# cpu_now: the processor time of all that this shell has waited for, in 1/1000 s. Leaves it in $cpu; times(1p) prints "0m1.234s 0m0.100s".
cpu_now() {
  local line rest
  times >"$scratch/times.$BASHPID"
  { read -r rest; read -r line; } <"$scratch/times.$BASHPID"
  cpu=0
  for rest in $line; do
    [[ $rest =~ ^([0-9]+)m([0-9]+)\.([0-9]{3})s$ ]] || continue
    cpu=$((cpu + (10#${BASH_REMATCH[1]} * 60 + 10#${BASH_REMATCH[2]}) * 1000 + 10#${BASH_REMATCH[3]}))
  done
}

# section TITLE: what runs now; the section before it has ended.
section() {
  section_end
  title "$1 ($((SECONDS / 60)) min)"
  section_title=$1 section_began=$SECONDS
  cpu_now
  section_cpu_began=$cpu
}

section_end() {
  [[ ${section_title-} ]] || return 0
  cpu_now
  cpu=$((cpu - section_cpu_began))
  ended_beside
  took "$section_title" $((SECONDS - section_began)) "$cpu"
  section_title=''
}

# took TITLE SECONDS MILLISECONDS: for the table.
took() {
  section_titles+=("$1") section_seconds+=("$2") section_cpu+=($(($3 / 1000))) section_load+=("$(cut -d ' ' -f 1 /proc/loadavg)")
}

# limited SIGNAL COMMAND...: run it for as long as this run has time, and end it by SIGNAL then. A function is only not
# begun late: timeout(1) starts programs alone. Without a limit Ctrl-C reaches everything, so timeout(1) has to stay out.
limited() {
  local signal=$1 left
  shift
  [[ ${JVSFS_TEST_MINUTES:-} ]] || { "$@"; return; }
  left=$((10#$JVSFS_TEST_MINUTES * 60 - SECONDS))
  ((left > 0)) || { printf 'not begun: JVSFS_TEST_MINUTES=%s are over\n' "$JVSFS_TEST_MINUTES" && return 124; }
  [[ $(type -t "$1") != function ]] || { "$@"; return; }
  timeout -s "$signal" -k 60 "$left" "$@"
}

# count STATUS WHAT: one check that is no Go test has ended so.
count() {
  case $1 in
  0) passed=$((passed + 1)) ;;
  *) failed=$((failed + 1)) && broken+=("$2") && printf 'FAIL  %s\n' "$2" ;;
  esac
}

# check TITLE COMMAND...: one check that is no Go test.
check() {
  local status=0
  section "$1"
  shift
  limited TERM "$@" || status=$?
  count "$status" "$*"
}

# tests TITLE COMMAND...: a command that runs Go tests and writes "passed failed skipped" to $counts. A skipped test has failed:
# a suite that skips everything looks green.
tests() {
  local p=0 f=0 s=0 status=0
  section "$1"
  shift
  rm -f "$scratch/counts"
  "$@" || status=$?
  [[ ! -e $scratch/counts ]] || read -r p f s <"$scratch/counts"
  # Whatever made it fail, it must not get lost in the counting.
  ((status == 0 || f + s > 0)) || f=1
  ((f + s == 0)) || broken+=("$section_title: $f failed, $s skipped")
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
}

# gotest VERBOSE ARG...: go test, with what failed in full.
gotest() {
  local verbose=$1
  shift
  # On SIGQUIT a test prints what each goroutine waits for.
  limited QUIT env "$mark" go test -json -count=1 -vet=off -timeout 30m "$@" 2>&1 |
    awk -v counts="$scratch/counts" -v verbose="$verbose" -f "$here/testjson.awk"
}

# beside NAME COMMAND...: start a check that waits for most of its time, beside what follows; await NAME shows what it said, and counts it.
declare -A beside_pid=()
beside() {
  local name=$1 left=$((10#${JVSFS_TEST_MINUTES:-1440} * 60 - SECONDS))
  shift
  (
    trap - EXIT INT TERM HUP
    began=$SECONDS status=0
    to_its_end env "$mark" timeout -s TERM -k 60 "$((left > 0 ? left : 1))" "$@" >"$scratch/said $name" 2>&1 || status=$?
    cpu_now
    echo "$((SECONDS - began)) $cpu" >"$scratch/ended $name"
    exit "$status"
  ) &
  beside_pid[$name]=$!
}

# ended_beside: the processor time of what has ended beside the section is none of the section's $cpu: this shell has waited for both.
declare -A beside_told=()
ended_beside() {
  local name seconds used
  for name in "${!beside_pid[@]}"; do
    [[ -e "$scratch/ended $name" && -z ${beside_told[$name]-} ]] || continue
    ! kill -0 "${beside_pid[$name]}" 2>/dev/null || continue # its time is not counted yet
    read -r seconds used <"$scratch/ended $name" || continue
    beside_told[$name]=1
    cpu=$((cpu - used))
    took "$name" "$seconds" "$used"
  done
}

# await NAME: a section of its own only for as long as it has to be waited for.
await() {
  local status=0
  section "$1: the rest"
  wait "${beside_pid[$1]}" || status=$?
  cat "$scratch/said $1"
  section_end
  unset "beside_pid[$1]"
  count "$status" "$1"
}

# budget TITLE: the seconds and the processor seconds that the section may take, from scripts/test.budgets.
budget() { awk -F '\t' -v title="$1" '$3 == title { print $1, $2 }' "$here/test.budgets"; }

# grew NOW BUDGET: by more than a quarter, and by more than chance.
grew() { (($1 * 4 > $2 * 5 && $1 > $2 + 5)); }

# table: each section by its time, longest first, and those that take longer than they should.
table() {
  local i wall cpu note
  printf '%8s %8s %6s  %s\n' seconds cpu load section
  for i in "${!section_titles[@]}"; do
    note=''
    if read -r wall cpu < <(budget "${section_titles[i]}"); then
      if grew "${section_seconds[i]}" "$wall"; then note="  grew: its budget is $wall s"; fi
      if grew "${section_cpu[i]}" "$cpu"; then note+="  grew: its budget is $cpu s of processor"; fi
    elif [[ ${section_titles[i]} != *': the rest' ]]; then
      note='  has no budget in scripts/test.budgets'
    fi
    printf '%8d %8d %6s  %s%s\n' "${section_seconds[i]}" "${section_cpu[i]}" "${section_load[i]}" "${section_titles[i]}" "$note"
  done | sort -rn
}

# summary: a page. Fails when anything did.
summary() {
  section_end
  title "Summary ($((SECONDS / 60)) min)"
  table
  ((${#left_out[@]} == 0)) || printf 'left out: %s\n' "${left_out[@]}"
  ((${#broken[@]} == 0)) || printf 'FAIL  %s\n' "${broken[@]}"
  ((skipped == 0)) || printf '%d skipped\n' "$skipped"
  printf '%d passed, %d failed\n' "$passed" "$((failed + skipped))"
  ((failed + skipped == 0))
}
