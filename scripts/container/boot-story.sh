#!/usr/bin/env bash
# What is mounted at boot, told by the admin: a unit that was enabled, and a line of fstab.
# Runs in a container whose process 1 is systemd, with the package at /jvsfs.deb and a disk
# at /srv: first "boot-story.sh before", then after another boot "boot-story.sh after".
set -euo pipefail

export LC_ALL=C.UTF-8 SYSTEMD_PAGER='' SYSTEMD_COLORS=0
fail() {
  printf 'boot story: %s\n' "$*" >&2
  systemctl status --no-pager -l jvsfs@a srv-b.mount >&2 || true
  journalctl --no-pager -n 30 -u jvsfs@a -u srv-b.mount >&2 || true
  exit 1
}
token() { jvsfs lock status --json "$1" | sed -n 's/.*"fencing_token": *\([0-9]*\).*/\1/p' | head -n 1; }

# guarded DIR: it is mounted, a stranger is refused, and a holder writes.
guarded() {
  findmnt -rn -t fuse.jvsfs -M "$1" >/dev/null || fail "$1 is not mounted"
  if setsid --wait sh -c "echo intruder >>$1/file" 2>/dev/null; then fail "$1: a write without the lease was not refused"; fi
  jvsfs exec --wait 30s "$1" -- sh -c "date >$1/file" || fail "$1: the holder cannot write"
}

before() {
  dpkg -i /jvsfs.deb >/dev/null
  mkdir -p /srv/a /srv/b
  printf 'source: /srv/a\non_free: deny\n' >/etc/jvsfs/a.yaml
  echo '/srv/b  /srv/b  fuse.jvsfs  nofail,on_free=deny,nosuid  0  0' >/etc/fstab
  systemctl enable --now jvsfs@a || fail "enable --now"
  mount -a || fail "mount -a"
  for dir in /srv/a /srv/b; do
    guarded "$dir"
    token "$dir" >"$dir.token"
  done
  touch /run/first-boot # gone with /run
}

after() {
  [[ ! -e /run/first-boot ]] || fail "this is the first boot"
  for unit in jvsfs@a.service srv-b.mount; do
    systemctl is-active "$unit" >/dev/null || fail "$unit is not active"
  done
  for dir in /srv/a /srv/b; do
    guarded "$dir"
    (($(token "$dir") > $(<"$dir.token"))) || fail "$dir: token $(token "$dir") after $(<"$dir.token")"
  done
}

case "${1:-}" in
before | after) "$1" ;;
*) fail "usage: boot-story.sh before|after" ;;
esac
