#!/usr/bin/env bash
# The life of a unit, told by its admin. Runs in a container whose process 1 is systemd,
# with the package at /jvsfs.deb and a disk at /srv.
set -euo pipefail

export LC_ALL=C.UTF-8 SYSTEMD_PAGER='' SYSTEMD_COLORS=0
unit=jvsfs@repo
fail() {
  printf 'unit story: %s\n' "$*" >&2
  systemctl status --no-pager -l "$unit" >&2 || true
  journalctl --no-pager -n 30 -u "$unit" >&2 || true
  exit 1
}
# has PATTERN: reads all of what comes, for a writer that is cut off fails.
has() { grep -- "$1" >/dev/null; }
step() { printf -- '-- %s\n' "$*"; }
mounted() { findmnt -rn -t fuse.jvsfs -M /srv/repo >/dev/null; }
property() { systemctl show -P "$1" "$unit"; }
has_flag() { jvsfs mount --help | has "--$1"; }
# wait_for COMMAND...: half a minute at most.
wait_for() {
  local until=$((SECONDS + 30))
  until "$@" >/dev/null 2>&1; do
    ((SECONDS < until)) || return 1
    sleep 0.1
  done
}
# intrude: a write by somebody who never has the lease; succeeds when it is refused.
intrude() { ! setsid --wait sh -c 'echo intruder >>/srv/repo/main/file' 2>/dev/null; }
hold() { jvsfs exec --wait 30s /srv/repo/main -- sh -c "echo $1 >/srv/repo/main/file"; }
content() { [[ $(cat /srv/repo/main/file) == "$1" ]]; }

dpkg -i /jvsfs.deb >/dev/null
mkdir -p /srv/repo/.jvs /srv/repo/main /srv/repo/worktrees
printf 'source: /srv/repo\non_free: deny\n' >/etc/jvsfs/repo.yaml

step "start returns when the mount serves"
systemctl start "$unit" || fail "start"
mounted || fail "start has returned without a mount"
[[ $(property Type) == notify && $(property ActiveState) == active ]] || fail "not active"
intrude || fail "a write without the lease was not refused"
hold one || fail "the holder cannot write"
content one || fail "the file has another content"
systemctl status --no-pager "$unit" | sed -n 1,12p

serves_again() { [[ $(property ActiveState) == active && $(property MainPID) != "$1" ]] && jvsfs status | has '/srv/repo  serving'; }

if has_flag recover; then
  step "kill -9: the restarted unit brings the mount back, and nobody writes meanwhile"
  touch /tmp/go
  while [[ -e /tmp/go ]]; do intrude || echo >>/tmp/intruded; done &
  for ((i = 0; i < 3; i++)); do
    pid=$(property MainPID)
    kill -9 "$pid"
    wait_for serves_again "$pid" || fail "the mount is not back"
    systemctl reset-failed "$unit"
  done
  rm /tmp/go
  wait
  [[ ! -e /tmp/intruded ]] || fail "somebody wrote while the daemon was dead"
  content one || fail "the file has another content"
  hold two || fail "the holder cannot write"
else
  step "(this build has no --recover: kill -9 is left out)"
fi

step "stop drains, releases and unmounts"
jvsfs exec /srv/repo/main -- sleep 60 &
wait_for sh -c 'jvsfs lock status --json /srv/repo/main | grep "\"state\": *\"held\""' || fail "no lease"
systemctl stop "$unit" || fail "stop"
wait || true
if mounted; then fail "it is still mounted"; fi
[[ $(property ActiveState) == inactive && $(property Result) == success ]] || fail "not a clean stop"
jvsfs lock status --json /srv/repo/main | has '"state": *"free"' || fail "the lease was not released"
journalctl --no-pager -o cat -u "$unit" | has serving || fail "the journal has nothing of the daemon"
journalctl --no-pager -o cat -u "$unit" | tail -n 4

step "under its hardening the daemon does everything that callers do to their files"
# shellcheck source=scripts/container/families.sh
. /story/families.sh
family_tree /srv/tree
echo 'source: /srv/tree' >/etc/jvsfs/tree.yaml
systemctl start jvsfs@tree || fail "start jvsfs@tree"
findmnt -rn -t fuse.jvsfs -M /srv/tree >/dev/null || fail "jvsfs@tree has no mount"
daemon=$(systemctl show -P MainPID jvsfs@tree)
[[ $(awk '/^(NoNewPrivs|Seccomp):/ {printf "%s", $2}' "/proc/$daemon/status") == 12 ]] || fail "the daemon is not confined"
broken=$(families /srv/tree)
[[ -z $broken ]] || fail "under the unit these fail: $broken"
[[ $(stat -c %F /srv/tree/null) == "character special file" ]] || fail "the device node was made elsewhere"
systemctl stop jvsfs@tree || fail "stop jvsfs@tree"
[[ $(stat -c %t:%T /srv/tree/null) == 1:3 && $(getfattr --absolute-names --only-values -n trusted.a /srv/tree/tr) == b ]] ||
  fail "what was done did not reach the directory below"

step "a mistake in the configuration ends in failed, with its line in the journal, and no restarts"
printf 'source: /srv/repo\non_fre: deny\n' >/etc/jvsfs/repo.yaml
if systemctl start "$unit" 2>/dev/null; then fail "it started"; fi
[[ $(property NRestarts) == 0 ]] || fail "it was tried again"
journalctl --no-pager -o cat -u "$unit" | has 'repo.yaml:2:1' || fail "the journal lacks file and line"
systemctl reset-failed "$unit"

if has_flag options; then
  step "a line in fstab"
  echo '/srv/repo /srv/repo fuse.jvsfs on_free=deny,nofail,x-note=test 0 0' >>/etc/fstab
  mount -a || fail "mount -a"
  mounted || fail "mount -a has returned without a mount"
  intrude || fail "a write without the lease was not refused"
  umount /srv/repo || fail "umount"
  if mounted; then fail "it is still mounted"; fi
  systemctl daemon-reload
  systemctl start srv-repo.mount || fail "start srv-repo.mount"
  mounted || fail "srv-repo.mount has no mount"
  intrude || fail "a write without the lease was not refused"
  systemctl stop srv-repo.mount || fail "stop srv-repo.mount"
  if mounted; then fail "it is still mounted"; fi
else
  step "(this build is no mount helper: fstab is left out)"
fi
dpkg --purge jvsfs >/dev/null
