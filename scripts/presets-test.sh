#!/usr/bin/env bash
# Tries presets of rules with the programs that they are for, those that are too large for scripts/test.sh: cargo,
# Emacs, LibreOffice and npm's proper-lockfile, all from Debian, and terraform where it is installed (no registry has it).
# git's and Vim's presets are tried by scripts/test.sh. Needs root.
#
#   scripts/presets-test.sh           a minute, once the programs are there (cargo and its compiler: 500 MB, LibreOffice: 260 MB)
#   scripts/presets-test.sh REGEXP    only the stories whose names match
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"

(($# < 2)) || die "usage: scripts/presets-test.sh [REGEXP]"
become_root "$here/presets-test.sh" "$@"
install_missing "${TEST_TOOLS[@]}" cargo:cargo emacs:emacs-nox \
  /usr/share/nodejs/proper-lockfile/index.js:node-proper-lockfile \
  soffice:libreoffice-writer-nogui /usr/lib/python3/dist-packages/uno.py:python3-uno
need_go "$root"
need_fuse || die "jvsfs cannot mount without /dev/fuse"
cd "$root"
export GOFLAGS="${GOFLAGS:-} -buildvcs=false" JVSFS_REQUIRE_FUSE=1
exec go test -count=1 -v -tags jvsfs_programs \
  -run "${1:-TestACargo|TestAScriptWith|TestWhatIsChangedIn|TestATerraform|LibreOffice}" ./integration/rules
