# What a daemon in a container needs, measured and compared with what is expected: which
# capability's absence breaks what, and whether Docker's seccomp profile lets it work.
# Sourced by container-test.sh.
# shellcheck shell=bash disable=SC2154 # variables of container-test.sh
#
# Only the daemon runs with less. What writes through its mount enters the container with
# every capability of this script, so that a failure is the daemon's and not the caller's.

# shellcheck source=scripts/container/families.sh
. "$here/container/families.sh"

# What the unit gives the daemon.
mapfile -t UNIT_CAPABILITIES < <(sed -n 's/^CapabilityBoundingSet=//p' "$here/systemd/jvsfs@.service" | tr ' ' '\n' | sed 's/^CAP_//')

# What fails without one of them, as jvsfs-operations(7) tells it.
declare -A WITHOUT=(
  [SYS_ADMIN]="mount"
  [SETGID]="mount"
  [SETUID]="create as a user, write in a user's private directory, a group of the caller, hard links, lease of a user's process"
  [DAC_OVERRIDE]="write in a user's private directory, a group of the caller, write as root what only its user may, chmod and touch the file of a user"
  [DAC_READ_SEARCH]="hard links"
  [FOWNER]="write in a user's private directory, read as root what only its user may, write as root what only its user may, chmod and touch the file of a user, keep setgid"
  [CHOWN]="chown"
  [FSETID]="keep setgid"
  [MKNOD]="mknod"
  [SETFCAP]="setcap"
  [LINUX_IMMUTABLE]="inode flags"
  [SYS_PTRACE]="who keeps it busy"
  [SYS_NICE]="priority"
)
# What fails with the two that the mount itself needs.
TWO_LACK="create as a user, write in a user's private directory, a group of the caller, hard links, \
read as root what only its user may, write as root what only its user may, chown, chmod and touch the file of a user, \
keep setgid, mknod, setcap, inode flags, lease of a user's process, who keeps it busy, priority"

# probe PROFILE CAPABILITY...: prints what fails, one a line; "mount" when nothing serves.
# PROFILE: default for the engine's seccomp profile, unconfined for none, apparmor for the
# engine's seccomp and AppArmor profiles.
probe() {
  local name=jvsfs-probe-$RANDOM$RANDOM options profile=$1
  shift
  mapfile -t options < <(capabilities "$@")
  [[ $profile == apparmor ]] || options+=("${no_apparmor[@]}")
  [[ $profile != unconfined ]] || options+=(--security-opt seccomp=unconfined)
  rm -rf "$work/scratch/probe"
  family_tree "$work/scratch/probe/tree"
  if ! start_container "$name" --device /dev/fuse --network none "${options[@]}" -v "$work/scratch/probe:/probe" \
    -v "$here/container/probe.sh:/probe.sh:ro" -v "$here/container/families.sh:/probe-families.sh:ro" -v "$work/probe-bin:/usr/local/bin/jvsfs:ro" "$image" \
    sh -c 'jvsfs mount --foreground --control /probe/control /probe/tree >/probe/log 2>&1; sleep 1000' ||
    ! wait_for 5 "${docker[@]}" exec "$name" grep -q '"serving"' /probe/log; then
    echo mount
  else
    probe_as_everybody "$name" || echo "the probe itself"
  fi
  "${docker[@]}" rm -f "$name" >/dev/null
}

probe_as_everybody() {
  timeout 60 nsenter --target "$("${docker[@]}" inspect -f '{{.State.Pid}}' "$1")" \
    --mount --uts --ipc --net --pid env -i PATH="$PATH" LC_ALL=C bash /probe.sh
}

without() {
  local one
  for one in "${UNIT_CAPABILITIES[@]}"; do [[ $one == "$1" ]] || printf '%s\n' "$one"; done
}

# row EXPECTED PROFILE WHAT CAPABILITY...: measures, and counts in $differ what is not as expected.
row() {
  local expected=$1 profile=$2 what=$3 broken
  shift 3
  broken=$(probe "$profile" "$@" | paste -s -d , | sed 's/,/, /g')
  printf '%-34s %-10s %s\n' "$what" "$profile" "${broken:=nothing}"
  [[ $broken == "$expected" ]] && return
  printf 'FAIL  %s: %s was expected\n' "$what" "$expected"
  differ=$((differ + 1))
}

apparmor() { [[ $(cat /sys/module/apparmor/parameters/enabled 2>/dev/null) == Y ]]; }

privileges() {
  local one rest differ=0
  (cd "$root" && CGO_ENABLED=0 go build -o "$work/probe-bin" ./cmd/jvsfs) || return
  printf 'Linux %s, engine %s' "$(uname -r)" "$("${docker[@]}" version --format '{{.Server.Version}}')"
  apparmor || printf ', no AppArmor in this kernel'
  printf '\n\n%-34s %-10s %s\n' "the daemon's capabilities" profile "what fails"
  row mount default none
  row mount default SYS_ADMIN SYS_ADMIN
  row "$TWO_LACK" default "SYS_ADMIN SETGID" SYS_ADMIN SETGID
  for one in "${UNIT_CAPABILITIES[@]}"; do
    mapfile -t rest < <(without "$one")
    row "${WITHOUT[$one]:-a word in this table}" default "the unit's but $one" "${rest[@]}"
  done
  row nothing default "the unit's" "${UNIT_CAPABILITIES[@]}"
  row nothing unconfined "the unit's" "${UNIT_CAPABILITIES[@]}"
  ! apparmor || row mount apparmor "the unit's" "${UNIT_CAPABILITIES[@]}"
  row "who keeps it busy, priority" default "what container-test.sh gives" "${DAEMON_CAPABILITIES[@]}"
  ((differ == 0))
}

check "What a daemon in a container needs" privileges
