# A container engine, and an image with everything that the tests drive.
# Needs scripts/lib.sh, and $work, a directory on a disk.
# shellcheck shell=bash disable=SC2154 # variables of container-test.sh

# docker is the engine's command line.
docker=()
dockerd_pid=''

# engine_start: takes the engine that runs, or starts Debian's docker.io with everything
# it keeps in $work. No bridge and no rules: the containers have no network, and the
# machine's own stays as it is.
engine_start() {
  docker=(docker)
  if command -v docker >/dev/null && docker info >/dev/null 2>&1; then return; fi
  install_missing /usr/sbin/dockerd:docker.io docker:docker.io containerd:containerd runc:runc
  title "Starting dockerd"
  docker=(docker -H "unix://$work/docker.sock")
  /usr/sbin/dockerd --iptables=false --ip6tables=false --bridge=none --live-restore=false \
    --data-root "$work/docker" --exec-root "$work/docker.exec" --pidfile "$work/docker.pid" \
    -H "unix://$work/docker.sock" >"$work/dockerd.log" 2>&1 &
  dockerd_pid=$!
  wait_for 60 "${docker[@]}" info || {
    tail -n 20 "$work/dockerd.log" >&2
    die "dockerd does not come up"
  }
}

# wait_for SECONDS COMMAND...: until it succeeds, quietly.
wait_for() {
  local until=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    ((SECONDS < until)) || return 1
    sleep 0.2
  done
}

# engine_stop: ends the engine if it was started here, and unmounts what it left.
engine_stop() {
  [[ -n $dockerd_pid ]] || return 0
  kill "$dockerd_pid" 2>/dev/null || true
  wait "$dockerd_pid" 2>/dev/null || true
  dockerd_pid=''
  unmount_below "$work"
  # Its cgroup, in each hierarchy that the machine has; empty by now.
  find /sys/fs/cgroup/docker /sys/fs/cgroup/*/docker -depth -type d -exec rmdir {} + 2>/dev/null || true
}

# unmount_below DIR: everything mounted below it, last first.
unmount_below() {
  local target
  findmnt -rn -o TARGET | awk -v dir="$1/" 'index($0, dir) == 1' | tac |
    while read -r target; do umount "$target" || umount -l "$target"; done
}

# image_packages: what the tests drive, a service manager, and what the manual is read with.
image_packages() {
  local tool
  for tool in "${TEST_TOOLS[@]}"; do printf '%s\n' "${tool#*:}"; done
  printf '%s\n' systemd-sysv dbus kmod man-db libcap2-bin procps findutils
}

# image_build: makes the image from debootstrap, for nothing can be pulled everywhere.
# The root directory is kept as an archive, for the next run.
image_build() {
  local packages suite=bookworm key archive rootfs
  packages=$(image_packages | LC_ALL=C sort -u | paste -s -d ,)
  key=$(printf '%s %s' "$suite" "$packages" | sha256sum | cut -c 1-12)
  image=jvsfs-test:$key
  ! "${docker[@]}" image inspect "$image" >/dev/null 2>&1 || return 0
  archive=${JVSFS_IMAGE_CACHE:-/var/cache/jvsfs-test}/jvsfs-test-$key.tar
  if [[ ! -e $archive ]]; then
    install_missing debootstrap:debootstrap /usr/share/keyrings/debian-archive-keyring.gpg:debian-archive-keyring
    title "Making an image with debootstrap"
    rootfs=$work/rootfs
    debootstrap --variant=minbase --include="$packages" "$suite" "$rootfs" >"$work/debootstrap.log" 2>&1 || {
      tail -n 20 "$work/debootstrap.log" >&2
      die "debootstrap failed"
    }
    rm -rf "$rootfs"/var/cache/apt/archives/*.deb "$rootfs"/var/lib/apt/lists/*
    mkdir -p "${archive%/*}"
    tar -C "$rootfs" --numeric-owner --xattrs --one-file-system -cf "$archive.new" .
    rm -f "${archive%/*}"/jvsfs-test-*.tar # of other packages
    mv "$archive.new" "$archive"
    rm -rf --one-file-system "$rootfs"
  fi
  "${docker[@]}" import "$archive" "$image" >/dev/null
}
