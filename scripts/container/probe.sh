#!/usr/bin/env bash
# Tries every family of calls through the mount at /probe/tree, with all privileges, and
# prints the families that fail. Runs in a container beside a daemon that has less. The
# files of others were there before it was mounted.
# shellcheck disable=SC2016 # bash -c expands them
set -uo pipefail

cd /probe/tree || exit
user=(setpriv --reuid 1000 --regid 1000 --groups '1000,2000')

# try FAMILY COMMAND...: everything is silent but the name of a family that failed.
try() {
  local family=$1
  shift
  timeout 10 "$@" >/dev/null 2>&1 || printf '%s\n' "$family"
}
sh_try() { try "$1" bash -c "set -e; $2"; }

chmod 777 .
sh_try "write" 'echo x >f; [[ $(cat f) == x ]]; mkdir d; mv f d/g; ln d/g h; rm h d/g; rmdir d'
try "create as a user" "${user[@]}" sh -c 'echo x >u && test "$(stat -c %u:%g u)" = 1000:1000'
try "write in a user's private directory" "${user[@]}" sh -c 'mkdir -m 700 private && echo x >private/f && echo y >private/f && cat private/f'
try "a group of the caller" "${user[@]}" sh -c 'echo x >shared/f && mv shared/f shared/g'
sh_try "read as root what only its user may" '[[ $(cat secret) == x ]]'
sh_try "write as root what only its user may" 'echo y >frozen; [[ $(cat frozen) == y ]]'
sh_try "chown" 'echo x >c; chown 1000:2000 c; [[ $(stat -c %u:%g c) == 1000:2000 ]]'
sh_try "chmod and touch the file of a user" 'chmod 640 theirs; touch -d @1 theirs; setfattr -n user.a -v b theirs'
sh_try "keep setgid" 'chmod 2755 group; [[ $(stat -c %a group) == 2755 ]]'
sh_try "mknod" 'mknod null c 1 3; mkfifo fifo'
sh_try "setcap" 'cp /bin/true tc; setcap cap_net_raw+ep tc; getcap tc | grep net_raw'
sh_try "inode flags" 'echo x >i; chattr +i i; ! echo y >i; chattr -i i; echo y >i'
sh_try "ACL" 'echo x >acl; setfacl -m u:1234:rw acl; getfacl -n acl | grep 1234'
sh_try "trusted.*" 'echo x >tr; setfattr -n trusted.a -v b tr'
sh_try "security.*" 'echo x >se; setfattr -n security.a -v b se'
sh_try "lease of a user's process" "${user[*]} jvsfs exec /probe/tree -- true; ${user[*]} sh -c 'echo x >lu'"
sh_try "status and explain" 'jvsfs status | grep serving; jvsfs explain /probe/tree/u'
sh_try "doctor" 'jvsfs doctor --json | grep "\"ok\": *true"'
"${user[@]}" sleep 30 &
busy=$!
sleep 0.2
try "who keeps it busy" bash -c 'cd / && jvsfs umount /probe/tree 2>&1 | grep sleep'
kill "$busy"
wait "$busy" 2>/dev/null
sh_try "priority" '[[ $(ps -o ni= -p "$(jvsfs status --json | sed -n "s/.*\"pid\": *\([0-9]*\).*/\1/p" | head -n 1)") -eq -10 ]]'
cd /
sh_try "unmount" 'jvsfs umount /probe/tree'
