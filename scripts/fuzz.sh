#!/usr/bin/env bash
# Fuzzes what reads what others have written (requests, options, configurations, records, audit
# chains): every Fuzz function of the module, each for a short time.
#
#   scripts/fuzz.sh              half a minute each
#   scripts/fuzz.sh --time 10m   longer
#
# What breaks one is kept in its package's testdata/fuzz, and from then on is a case of the
# ordinary tests. Exits non-zero when something does.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"

time=30s
case "${1:-}" in
'') ;;
--time) time=${2:?--time wants a duration such as 30s} ;;
*) die "usage: scripts/fuzz.sh [--time DURATION]" ;;
esac

need_go "$root"
cd "$root"
export GOFLAGS="${GOFLAGS:-} -buildvcs=false"

# fuzzers: a line "PACKAGE NAME" for each there is, so that none is forgotten.
fuzzers() {
  go test -list '^Fuzz' ./... | awk '
    /^Fuzz/ { names[++n] = $1; next }
    $1 == "ok" { for (i = 1; i <= n; i++) print $2, names[i] }
    { n = 0 }'
}

# fuzz runs one fuzzer. Up to Go 1.26 the coordinator may take the end of its own time for a failure ("context
# deadline exceeded", go.dev/issue/75804). It has found nothing then, so it runs again, three times at most.
fuzz() {
  local out try
  out=$(mktemp)
  for try in 1 2 3; do
    if go test -run '^$' -fuzz "^$2\$" -fuzztime "$time" -fuzzminimizetime 5s "$1" </dev/null 2>&1 | tee "$out"; then
      rm -f "$out"
      return 0
    fi
    grep -qx '    context deadline exceeded' "$out" && ! grep -qE 'Failing input|panic|DATA RACE' "$out" || break
    echo "go test took the end of its time for a failure (try $try)"
  done
  rm -f "$out"
  return 1
}

list=$(fuzzers)
[[ -n $list ]] || die "go test -list finds no fuzz tests"
failed=0
while read -r package name; do
  title "$name of $package"
  fuzz "$package" "$name" || failed=$((failed + 1))
done <<<"$list"
((failed == 0)) || die "$failed fuzz tests failed"
