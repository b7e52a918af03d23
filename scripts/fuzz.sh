#!/usr/bin/env bash
# Fuzzes what reads what others have written (options, configurations, records, audit
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

list=$(fuzzers)
[[ -n $list ]] || die "go test -list finds no fuzz tests"
failed=0
while read -r package name; do
  title "$name of $package"
  go test -run '^$' -fuzz "^$name\$" -fuzztime "$time" -fuzzminimizetime 5s "$package" </dev/null || failed=$((failed + 1))
done <<<"$list"
((failed == 0)) || die "$failed fuzz tests failed"
