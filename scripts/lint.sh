#!/usr/bin/env bash
# Runs golangci-lint as .golangci.yml says, over the module (integration/bench is one of its own).
#
#   scripts/lint.sh [ARGUMENT...]   arguments go to `golangci-lint run`, such as --fix
#
# The linter is pinned in scripts/lint.mod, which is not go.mod: its 200 modules are none of
# the program's. To change its version:
#   go get -modfile=scripts/lint.mod -tool github.com/golangci/golangci-lint/v2/cmd/golangci-lint@vX.Y.Z
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"

need_go "$root"
cd "$root"
export GOFLAGS="${GOFLAGS:-} -buildvcs=false"
exec go tool -modfile=scripts/lint.mod golangci-lint run --timeout 20m "$@" ./...
