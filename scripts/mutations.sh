#!/usr/bin/env bash
# Removes the rules of the lease protocol (lease/doc.go) one clause at a time, and demands
# that a test notices each removal. The tree is not touched: mutated copies are laid over it. All
# mutants are in one build, and a variable of the environment switches one on.
#
#   scripts/mutations.sh             every mutation: two minutes, of which the build is one
#   scripts/mutations.sh --rule 9    those of one rule
#   scripts/mutations.sh --part 1/2  each second one, beginning with the first
#   scripts/mutations.sh --what gate those whose line contains a text; --verbose shows the tests
#
# Prints a line for each: the rule, what the mutant does wrong, the test that noticed, seconds. At
# the end those that needed a build of their own, and why: seconds each, so let them be few.
# Exits non-zero when one is not noticed, does not compile, or no longer fits the code.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"

# Two of the tests need a mount or a time namespace, and those of etcd a server.
become_root "$here/mutations.sh" "$@"
read -ra tools <<<"${HOSTS_ENGINES[etcd]}"
without_services install_missing "${tools[@]}"
need_go "$root"
need_fuse
cd "$root"

export GOFLAGS="${GOFLAGS:-} -buildvcs=false"
export CGO_ENABLED=0 # no race detector, so nothing to link with
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
trap 'exit 130' INT TERM
go build -o "$bin/mutation" ./integration/mutation
"$bin/mutation" --root "$root" "$@"
