# The small image as a sidecar: its mount reaches the host and other containers, and
# their processes are told apart. Sourced by container-test.sh.
# shellcheck shell=bash disable=SC2154 # variables of container-test.sh

# shared is a directory that hands mounts on in both directions.
shared=$work/shared

small_image() {
  mkdir -p "$work/context" "$shared/repo" "$work/run"
  (cd "$root" && CGO_ENABLED=0 go build -trimpath -o "$work/context/jvsfs" ./cmd/jvsfs) &&
    "${docker[@]}" build -q -f "$here/container/Containerfile" -t jvsfs:test "$work/context" >/dev/null &&
    "${docker[@]}" image ls jvsfs:test --format 'the image has {{.Size}}'
}

sidecar() {
  local options
  echo before >"$shared/repo/file"
  mount --bind "$shared" "$shared" && mount --make-rshared "$shared" || return
  mapfile -t options < <(capabilities "${DAEMON_CAPABILITIES[@]}")
  start_container "jvsfs-sidecar-$$" --device /dev/fuse --network none --pid host "${no_apparmor[@]}" "${options[@]}" \
    --mount "type=bind,src=$shared,dst=$shared,bind-propagation=rshared" -v /run/jvsfs:/run/jvsfs \
    jvsfs:test --on-free deny --control "$shared/control" "$shared/repo" &&
    wait_for 20 is_mounted "$shared/repo"
}

# A process of the host is refused, holds the lease by a jvsfs of the host, and writes.
host_writes() {
  local bin=$work/context/jvsfs
  ! echo intruder 2>/dev/null >"$shared/repo/file" || { echo "a write without the lease was not refused" && return 1; }
  "$bin" exec "$shared/repo" -- sh -c "echo holder >'$shared/repo/file'" &&
    [[ $(<"$shared/repo/file") == holder ]]
}

# Another container sees the mount where its bind mount is a slave of the host's.
neighbour_reads() {
  local options
  mapfile -t options < <(capabilities)
  [[ $("${docker[@]}" run --rm --network none --cap-drop ALL \
    --mount "type=bind,src=$shared,dst=/shared,bind-propagation=rslave" "$image" \
    sh -c 'cat /shared/repo/file; (echo intruder >/shared/repo/file) 2>&1 | grep -o "Read-only file system"') == $'holder\nRead-only file system' ]]
}

sidecar_ends() {
  timeout 60 "${docker[@]}" stop "jvsfs-sidecar-$$" >/dev/null &&
    ! is_mounted "$shared/repo" && [[ $(<"$shared/repo/file") == holder ]]
}

check "Build the small image" small_image
check "Mount in a container, for the host" sidecar
check "Processes of the host need the lease" host_writes
check "Another container goes through the mount" neighbour_reads
check "Stopping the container unmounts" sidecar_ends
