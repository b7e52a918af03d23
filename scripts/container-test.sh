#!/usr/bin/env bash
# Runs jvsfs in containers: of the Docker that runs, else of Debian's docker.io, started for
# this run alone, with an image from debootstrap. Needs root.
#
#   scripts/container-test.sh               quickstart and integration tests
#   scripts/container-test.sh --quick       quickstart and a few integration tests
#   scripts/container-test.sh --image       the small image: its mount reaches the host
#   scripts/container-test.sh --package     the Debian package: install, use, upgrade, remove, purge
#   scripts/container-test.sh --systemd     the unit and an fstab line under systemd, over two boots
#   scripts/container-test.sh --privileges  what a daemon in a container needs, measured
#   scripts/container-test.sh --fresh       README's commands on a bare Debian 12 and 13; without an engine
#
# Several options may be given. Ends with "N passed, N failed".
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"
# shellcheck source=scripts/container/engine.sh
. "$here/container/engine.sh"

# What a daemon in a container needs to serve everything: the table of --privileges.
readonly DAEMON_CAPABILITIES=(
  SYS_ADMIN CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID MKNOD SETFCAP LINUX_IMMUTABLE SETUID SETGID
)
# What the tests themselves do besides: kill and trace daemons, change priorities.
readonly TEST_CAPABILITIES=("${DAEMON_CAPABILITIES[@]}" KILL SYS_PTRACE SYS_NICE SETPCAP SYS_CHROOT)
# Tests of --quick: one of each kind.
readonly QUICK_TESTS='TestBashCompletes|TestErrnoOfTheOptionIsThatOfEveryRefusal|TestInPlace.*|TestTool.*Git.*'

parts=() fresh=''
for option in "${@:---all}"; do
  case $option in
  --all) parts+=(quickstart integration) ;;
  --quick) parts+=(quickstart quick) ;;
  --fresh) fresh=1 ;;
  --image | --package | --systemd | --privileges) parts+=("${option#--}") ;;
  *) die "usage: scripts/container-test.sh [--quick] [--image] [--package] [--systemd] [--privileges] [--fresh]" ;;
  esac
done

become_root "$here/container-test.sh" "$@"
need_fuse || die "a container needs the device of its host"
need_go "$root"
(cd "$root" && go mod download) # the containers have no network
export GOFLAGS="${GOFLAGS:-} -buildvcs=false"

passed=0 failed=0
work=$(mktemp -d /var/tmp/jvsfs-container.XXXXXX)
containers=()

clean() {
  local status=$? container
  trap - EXIT INT TERM HUP
  for container in "${containers[@]}"; do
    "${docker[@]}" rm -f -v "$container" >/dev/null 2>&1 || true
  done
  if [[ -n ${fresh_pid:-} ]] && kill "$fresh_pid" 2>/dev/null; then wait "$fresh_pid" || true; fi # it writes below $work
  engine_stop
  unmount_below "$work"
  rm -rf --one-file-system "$work"
  exit "$status"
}
at_end clean

check() {
  local begun=$SECONDS
  title "$1"
  shift
  if "$@"; then
    passed=$((passed + 1))
    printf 'ok, %d s\n' $((SECONDS - begun))
  else
    failed=$((failed + 1))
    printf 'FAIL  %s\n' "$*"
  fi
}

# capabilities NAME...: options that leave a container these alone.
capabilities() {
  printf '%s\n' --cap-drop=ALL "${@/#/--cap-add=}"
}

# Docker's AppArmor profile denies mount(2) whatever the capabilities are; where the
# machine has no AppArmor this asks for nothing.
no_apparmor=(--security-opt apparmor=unconfined)

# What a container of the tests gets: the device, the project, Go with its modules and
# its cache, all in their places, for what is cached depends on these, and a disk, because
# overlayfs is not what people mount over.
goroot=$(cd "$root" && go env GOROOT) modules=$(go env GOMODCACHE) cache=$(go env GOCACHE)
share=(
  "${no_apparmor[@]}" --device /dev/fuse --network none --init -w "$root"
  -v "$root:$root:ro" -v "$work/scratch:/scratch" -v "$goroot:$goroot:ro" -v "$modules:$modules:ro" -v "$cache:$cache"
  -e HOME=/root -e TMPDIR=/scratch -e "GOMODCACHE=$modules" -e "GOCACHE=$cache" -e "GOFLAGS=$GOFLAGS"
  -e GOPROXY=off -e GOTOOLCHAIN=local -e JVSFS_REQUIRE_FUSE=1 -e JVSFS_TEST_CONTAINER=1
  -e "PATH=$goroot/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
)
mkdir "$work/scratch"

# in_container OPTION... -- COMMAND...: runs the command in a container of the test image.
# In the background, for a signal to this script must not wait for its end.
in_container() {
  local options=() name=jvsfs-run-$$-$RANDOM
  while [[ $1 != -- ]]; do options+=("$1") && shift; done
  shift
  containers+=("$name")
  timeout -k 10 1800 "${docker[@]}" run --rm --name "$name" "${share[@]}" "${options[@]}" "$image" "$@" &
  wait $!
}

# start_container NAME OPTION...: one that stays, for exec.
start_container() {
  local name=$1
  shift
  containers+=("$name")
  "${docker[@]}" run -d --name "$name" "$@" >/dev/null
}

quickstart() {
  local options
  mapfile -t options < <(capabilities "${DAEMON_CAPABILITIES[@]}")
  in_container "${options[@]}" -- bash scripts/quickstart.sh
}

# integration_tests PATTERN. The tests make calls that seccomp profiles do not know yet
# (fchmodat2(2), for one); the daemon does not need them. A test that is skipped fails, but for what harness.NotInContainer leaves out.
integration_tests() {
  local options json summary status=0 skipped=none
  mapfile -t options < <(capabilities "${TEST_CAPABILITIES[@]}")
  exec {json}> >(exec awk -v counts="$work/counts" -v verbose=1 -f "$here/testjson.awk")
  summary=$!
  in_container "${options[@]}" --security-opt seccomp=unconfined -- \
    go test -json -count=1 -timeout 25m -run "$1" \
    ./integration/{fence,lease,daemon,fidelity,tools,git,rules,service} >&"$json" 2>&1 || status=$?
  exec {json}>&-
  wait "$summary" || status=$?
  [[ ! -e $work/counts ]] || read -r _ _ skipped <"$work/counts"
  [[ $skipped == 0 ]] || { printf 'FAIL  %s integration tests were skipped\n' "$skipped" && status=1; }
  return "$status"
}

if [[ $fresh ]]; then
  # shellcheck source=scripts/container/fresh.sh
  . "$here/container/fresh.sh"
fi
if ((${#parts[@]})); then
  engine_start
  image_build
fi
for part in "${parts[@]}"; do
  case $part in
  quickstart) check "Quickstart in a container" quickstart ;;
  integration) check "Integration tests in a container" integration_tests . ;;
  quick) check "A few integration tests in a container" integration_tests "$QUICK_TESTS" ;;
  image | package | systemd | privileges)
    # shellcheck source=/dev/null # each is checked by itself
    . "$here/container/$part.sh"
    ;;
  esac
done

title "Summary"
printf '%d passed, %d failed\n' "$passed" "$failed"
((failed == 0))
