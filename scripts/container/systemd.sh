# A unit's life under systemd, which is process 1 of a container, and another boot. Sourced
# by container-test.sh.
# shellcheck shell=bash disable=SC2154 # variables of container-test.sh

systemd=jvsfs-systemd-$$

boot_systemd() {
  local options
  mapfile -t options < <(capabilities "${TEST_CAPABILITIES[@]}" AUDIT_WRITE NET_ADMIN)
  mkdir -p "$work/scratch/srv"
  deb=$("$here/package.sh" --out "$work/deb") || return
  start_container "$systemd" "${options[@]}" --device /dev/fuse \
    --security-opt seccomp=unconfined "${no_apparmor[@]}" --cgroupns=private --network none -e container=docker \
    --tmpfs /run --tmpfs /run/lock --tmpfs /tmp --stop-signal SIGRTMIN+3 \
    -v "$work/scratch/srv:/srv" -v "$deb:/jvsfs.deb:ro" -v "$here/container:/story:ro" "$image" /story/init.sh || return
  await_boot
}

await_boot() {
  wait_for 60 "${docker[@]}" exec "$systemd" systemctl is-active multi-user.target && return
  "${docker[@]}" logs "$systemd" | tail -n 30
  return 1
}

story() { timeout -k 10 300 "${docker[@]}" exec "$systemd" bash "/story/$1-story.sh" "${@:2}"; }

# boot_again: what was enabled, and what is in fstab, is mounted once more.
boot_again() {
  story boot before && timeout 120 "${docker[@]}" restart -t 50 "$systemd" >/dev/null && await_boot && story boot after
}

shutdown_systemd() {
  timeout 60 "${docker[@]}" stop -t 50 "$systemd" >/dev/null
}

if compgen -G "$here/systemd/*.service" >/dev/null; then
  check "Boot systemd in a container" boot_systemd
  check "A unit's life" story unit
  check "A second boot mounts what is enabled, and fstab" boot_again
  check "Shut it down" shutdown_systemd
else
  warn "there is no unit in scripts/systemd: its story is left out"
fi
