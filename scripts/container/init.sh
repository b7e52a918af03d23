#!/bin/sh
# Becomes systemd, in a container. systemd wants to write to a cgroup hierarchy of
# version 2, and what engines give a container is read-only, of version 1 on older
# hosts, or the host's own. So: a cgroup below the one that this process is in, and a
# namespace in which it is the root.
set -e

if [ "$1" != in-cgroup ]; then
  umount -R /sys/fs/cgroup 2>/dev/null || true
  mount -t cgroup2 cgroup2 /sys/fs/cgroup
  # What a leaf has, it has; a cgroup with processes can have no children with controllers.
  own=/sys/fs/cgroup/jvsfs-test-systemd
  mkdir -p "$own"
  echo $$ >"$own/cgroup.procs"
  exec unshare --cgroup "$0" in-cgroup
fi
umount /sys/fs/cgroup
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount --make-rshared /
exec /lib/systemd/systemd
