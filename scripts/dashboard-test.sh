#!/usr/bin/env bash
# Draws the dashboard of scripts/monitoring in headless Chromium, over a real Prometheus (both Debian's) that has
# scraped two mounts at work, and checks what every panel shows. Grafana itself is in no registry: it is drawn by
# the components that Grafana publishes (npm, pinned in scripts/dashboard/package-lock.json). Needs root, and npm's
# registry the first time.
#
#   scripts/dashboard-test.sh                  takes some two minutes, once the packages are there
#   scripts/dashboard-test.sh --pictures DIR   leaves the picture there, as dashboard.png
#
# The packages (700 MB) stay in ~/.cache/jvsfs-dashboard for the next run. Nothing else is left.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"

pictures=''
case "${1:-}" in
'') ;;
--pictures)
  [[ -d ${2:-} ]] || die "--pictures needs a directory"
  pictures=$(cd "$2" && pwd -P)
  ;;
*) die "usage: scripts/dashboard-test.sh [--pictures DIR]" ;;
esac

become_root "$here/dashboard-test.sh" "$@"

install_missing "${TEST_TOOLS[@]}" npm:npm prometheus:prometheus chromium:chromium \
  /usr/share/fonts/opentype/inter/Inter-Regular.otf:fonts-inter pngquant:pngquant
need_go "$root"
need_fuse || die "jvsfs cannot mount without /dev/fuse"

cache=$HOME/.cache/jvsfs-dashboard
work=$(mktemp -d /var/tmp/jvsfs-dashboard.XXXXXX)
at_end clean

# clean: after a signal, what still ends may make a file more.
clean() {
  local status=$? tries
  trap - EXIT INT TERM HUP
  for ((tries = 0; tries < 100; tries++)); do
    rm -rf --one-file-system "$work" 2>/dev/null && sleep 0.2
    [[ -e $work ]] || exit "$status"
    sleep 0.2
  done
  warn "$work is left"
  exit 1
}

# packages: what the lock file names, and no other; no package runs a script of its own.
packages() {
  local lock=$here/dashboard/package-lock.json
  cmp -s "$lock" "$cache/installed" && return
  title "Fetching Grafana's components"
  mkdir -p "$cache"
  rm -f "$cache/installed"
  cp "$here/dashboard/package.json" "$lock" "$cache"
  (cd "$cache" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error)
  cp "$lock" "$cache/installed"
}
packages
cp "$here"/dashboard/* "$work"
ln -s "$cache/node_modules" "$work/node_modules"

cd "$root"
export GOFLAGS="${GOFLAGS:-} -buildvcs=false" JVSFS_REQUIRE_FUSE=1 RENDERER=$work JVSFS_PICTURES=$pictures JVSFS_TEST_DIR=$work
if [[ -z ${JVSFS_BINARY:-} ]]; then
  export JVSFS_BINARY=$work/jvsfs
  release=$(sed -n '1s/^jvsfs (\(.*\)).*/\1/p' "$here/debian/changelog") # the picture shows it
  CGO_ENABLED=0 go build -ldflags "-X main.release=$release" -o "$JVSFS_BINARY" ./cmd/jvsfs
fi
title "Two mounts, Prometheus and a picture"
to_its_end go test -tags jvsfs_dashboard -count=1 -timeout 15m -run '^TestDashboardIsDrawn$' -v ./integration/service
[[ -z $pictures ]] || pngquant --force --ext .png 64 -- "$pictures/dashboard.png"
