# What a daemon in a container needs, measured: which capability's absence breaks what,
# and whether Docker's seccomp profile lets it work. Sourced by container-test.sh.
# shellcheck shell=bash disable=SC2154 # variables of container-test.sh
#
# Only the daemon runs with less. What writes through its mount enters the container with
# every capability of this script, so that a failure is the daemon's and not the caller's.

# What the daemon's container may have at most.
ALL_CAPABILITIES=(
  SYS_ADMIN CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID MKNOD SETFCAP LINUX_IMMUTABLE
  SETUID SETGID KILL SYS_PTRACE SYS_NICE
)
# Not every machine has SYS_RESOURCE (24 in capability.h) to give.
bounding=$(awk '/^CapBnd:/ {print $2}' /proc/self/status)
if (((0x$bounding >> 24) & 1)); then
  ALL_CAPABILITIES+=(SYS_RESOURCE)
fi

# probe_tree DIR: files of users and groups, for the daemon to be asked about.
probe_tree() {
  mkdir -p "$1/shared"
  (
    cd "$1" || return
    for name in secret frozen theirs group; do echo x >"$name"; done
    chmod 0 secret && chown 1000 secret theirs
    chmod 400 frozen && chown 1000:1000 frozen
    chown 1000:2000 group
    chgrp 2000 shared && chmod 775 shared
  )
}

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
  probe_tree "$work/scratch/probe/tree"
  if ! start_container "$name" --device /dev/fuse --network none "${options[@]}" -v "$work/scratch/probe:/probe" \
    -v "$here/container/probe.sh:/probe.sh:ro" -v "$work/probe-bin:/usr/local/bin/jvsfs:ro" "$image" \
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
  for one in "${ALL_CAPABILITIES[@]}"; do [[ $one == "$1" ]] || printf '%s\n' "$one"; done
}

# row PROFILE WHAT CAPABILITY...
row() {
  local profile=$1 what=$2 broken
  shift 2
  broken=$(probe "$profile" "$@" | paste -s -d , | sed 's/,/, /g')
  printf '%-34s %-10s %s\n' "$what" "$profile" "${broken:-nothing}"
}

apparmor() { [[ $(cat /sys/module/apparmor/parameters/enabled 2>/dev/null) == Y ]]; }

privileges() {
  local one rest
  (cd "$root" && CGO_ENABLED=0 go build -o "$work/probe-bin" ./cmd/jvsfs) || return
  printf 'Linux %s, engine %s' "$(uname -r)" "$("${docker[@]}" version --format '{{.Server.Version}}')"
  apparmor || printf ', no AppArmor on this machine'
  ((${#ALL_CAPABILITIES[@]} == 15)) || printf ', which has no SYS_RESOURCE to give'
  printf '\n\n%-34s %-10s %s\n' "the daemon's capabilities" profile "what fails"
  row default none
  row default SYS_ADMIN SYS_ADMIN
  row default "SYS_ADMIN SETGID" SYS_ADMIN SETGID
  for one in "${ALL_CAPABILITIES[@]}"; do
    mapfile -t rest < <(without "$one")
    row default "all of them but $one" "${rest[@]}"
  done
  row default "all of them" "${ALL_CAPABILITIES[@]}"
  row unconfined "all of them" "${ALL_CAPABILITIES[@]}"
  ! apparmor || row apparmor "all of them" "${ALL_CAPABILITIES[@]}"
  row default "what container-test.sh gives" "${DAEMON_CAPABILITIES[@]}"
}

check "What a daemon in a container needs" privileges
