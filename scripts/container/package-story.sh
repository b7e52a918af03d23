#!/usr/bin/env bash
# What happens to a machine that gets the package /jvsfs.deb, and /jvsfs-next.deb after it.
# Runs in a container.
set -euo pipefail

export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 MANPAGER=cat
fail() { printf 'package story: %s\n' "$*" >&2 && exit 1; }
# has PATTERN: reads all of what comes, for a writer that is cut off fails.
has() { grep -- "$1" >/dev/null; }
step() { printf -- '-- %s\n' "$*"; }
mounted() { findmnt -rn -t fuse.jvsfs -M "$1" >/dev/null; }
# serving VERSION: the mount is served by a daemon of that version.
serving() { jvsfs status | has '/srv/repo  serving' && jvsfs status --json | has "\"version\": *\"$1\""; }
mismatch() { { jvsfs doctor --json || true; } | has '"version.mismatch"'; } # it may find other things

step "install, with no fusermount3 on the machine"
dpkg --force-depends --purge fuse3 >/dev/null 2>&1
if command -v fusermount3 >/dev/null; then fail "fusermount3 is still there"; fi
dpkg -i /jvsfs.deb
dpkg --verify jvsfs
for file in prometheus.yml jvsfs.rules.yml jvsfs.test.yml jvsfs.json; do
  [[ -s /usr/share/jvsfs/monitoring/$file ]] || fail "$file is missing"
done
[[ -d /etc/jvsfs && -L /usr/sbin/mount.fuse.jvsfs && -L /usr/sbin/umount.fuse.jvsfs ]] || fail "files are missing"
jvsfs --version
[[ $(/usr/lib/jvsfs/jvsfs-etcd --version) == "$(jvsfs --version)" ]] || fail "jvsfs-etcd is missing, or of another version"

step "the manual"
for page in /usr/share/man/man[1578]/*jvsfs*; do
  man --warnings -E UTF-8 -l "$page" 2>&1 >/dev/null | grep . && fail "warnings in $page"
  name=${page##*/}
  man "${name%.[1578].gz}" | has NAME || fail "no page $name"
done
man 8 jvsfs-mount | has --on-free || fail "jvsfs-mount(8) lacks --on-free"
man 1 jvsfs-exec | has --wait || fail "jvsfs-exec(1) lacks --wait"
man 7 jvsfs-lease | has 'fencing token' || fail "jvsfs-lease(7) does not say what a fencing token is"

step "the changelog begins with this version, and goes on with the releases"
zcat /usr/share/doc/jvsfs/changelog.gz | head -n 1 | has "^jvsfs ($(dpkg-deb -f /jvsfs.deb Version)) " || fail "the changelog has another version on top"
zcat /usr/share/doc/jvsfs/changelog.gz | has '^jvsfs (0.1.0) ' || fail "the changelog lacks a release"

step "completion"
# shellcheck disable=SC1091
bash -c '. /usr/share/bash-completion/bash_completion; _completion_loader jvsfs || [[ $? == 124 ]]
  COMP_WORDS=(jvsfs umo) COMP_CWORD=1 COMP_LINE="jvsfs umo" COMP_POINT=9 COMP_TYPE=9
  compopt() { :; }; __start_jvsfs; [[ ${COMPREPLY[*]} == *umount* ]]' || fail "bash does not complete"

step "the example configuration mounts"
mkdir -p /srv/repo/.jvs /srv/repo/main /srv/repo/worktrees
cp /usr/share/doc/jvsfs/examples/jvsfs.yaml /etc/jvsfs/repo.yaml
jvsfs mount --config /etc/jvsfs/repo.yaml
mounted /srv/repo || fail "/srv/repo is not mounted"
jvsfs exec /srv/repo/main -- sh -c 'echo holder >/srv/repo/main/file'
sleep 600 &
jvsfs lock acquire --pid $! /srv/repo/main >/dev/null
if setsid --wait sh -c 'echo intruder >/srv/repo/main/file' 2>/dev/null; then fail "a write without the lease"; fi
[[ $(</srv/repo/main/file) == holder ]] || fail "the file has changed"

step "an upgrade leaves the mount and the admin's configuration alone, and doctor tells"
before=$(dpkg-deb -f /jvsfs.deb Version) after=$(dpkg-deb -f /jvsfs-next.deb Version)
echo '# by the admin' >>/etc/jvsfs/repo.yaml
edited=$(</etc/jvsfs/repo.yaml)
serving "$before" || fail "the daemon is not of version $before"
if mismatch; then fail "doctor sees another version"; fi
dpkg -i /jvsfs-next.deb >/dev/null </dev/null
[[ $(jvsfs --version) == *" $after" ]] || fail "the program is not of version $after: $(jvsfs --version)"
[[ $(</etc/jvsfs/repo.yaml) == "$edited" ]] || fail "the configuration has changed"
serving "$before" || fail "the mount has gone, or is not of version $before"
mismatch || fail "doctor does not see that the daemon is of another version"

step "jvsfs mount --replace brings the mount to the new version, under the same lease"
token() { jvsfs lock status --json /srv/repo/main | sed -n 's/.*"fencing_token": *\([0-9]*\).*/\1/p' | head -n 1; }
held=$(token)
jvsfs mount --replace --config /etc/jvsfs/repo.yaml
serving "$after" || fail "the daemon is not of version $after"
if mismatch; then fail "doctor still sees another version"; fi
[[ -n $held && $(token) == "$held" ]] || fail "the lease is another: $held, $(token)"
if setsid --wait sh -c 'echo intruder >/srv/repo/main/file' 2>/dev/null; then fail "a write without the lease"; fi

step "removal is refused while it is mounted"
if dpkg --remove jvsfs 2>&1; then fail "it was removed"; fi
mounted /srv/repo || fail "the mount has gone"
jvsfs status | has '/srv/repo  serving' || fail "the mount has gone"
if dpkg --purge jvsfs >/dev/null 2>&1; then fail "it was purged"; fi
[[ -x /usr/bin/jvsfs ]] || fail "the program has gone"

step "unmount, remove, purge"
kill %1
jvsfs umount /srv/repo
mkdir /srv/plain && jvsfs exec /srv/plain -- true # records below /var/lib/jvsfs
dpkg --remove jvsfs >/dev/null
[[ ! -e /usr/bin/jvsfs && ! -e /usr/lib/jvsfs && ! -L /usr/sbin/mount.fuse.jvsfs ]] || fail "files are left"
[[ $(</etc/jvsfs/repo.yaml) == "$edited" ]] || fail "the configuration has gone"
# What purging takes: logs, and what systemctl enable has made. No file below /etc is the package's.
mkdir -p /etc/systemd/system/multi-user.target.wants
link=/etc/systemd/system/multi-user.target.wants/jvsfs@repo.service
ln -sf /usr/lib/systemd/system/jvsfs@.service "$link"
dpkg --purge jvsfs
[[ $(</etc/jvsfs/repo.yaml) == "$edited" ]] || fail "purge took the admin's configuration"
[[ ! -e /var/log/jvsfs && ! -L $link ]] || fail "purge left logs, or the link of an enabled unit"
compgen -G '/var/lib/jvsfs/locks/*' >/dev/null || fail "the fencing tokens have gone"
rm -rf /srv/repo /srv/plain
