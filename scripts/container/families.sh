# Every family of calls that callers make on files, tried below a directory. Sourced by what
# asks which of them a daemon with less than all privileges can serve: the caller has all,
# so that a failure is the daemon's.
# shellcheck shell=bash disable=SC2016 # bash -c expands them

user=(setpriv --reuid 1000 --regid 1000 --groups '1000,2000')

# try FAMILY COMMAND...: everything is silent but the name of a family that failed.
try() {
  local family=$1
  shift
  timeout 10 "$@" >/dev/null 2>&1 || printf '%s\n' "$family"
}
sh_try() { try "$1" bash -c "set -e; $2"; }

# family_tree DIR: makes it, with files of users and groups. Before it is mounted over.
family_tree() {
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

# families DIR: tries all of them.
families() {
  cd "$1" || return
  chmod 777 .
  sh_try "write" 'echo x >f; [[ $(cat f) == x ]]; mkdir d; mv f d/g; rm d/g; rmdir d'
  try "create as a user" "${user[@]}" sh -c 'echo x >u && test "$(stat -c %u:%g u)" = 1000:1000'
  try "write in a user's private directory" "${user[@]}" sh -c 'mkdir -m 700 private && echo x >private/f && echo y >private/f && cat private/f'
  try "a group of the caller" "${user[@]}" sh -c 'echo x >shared/f && mv shared/f shared/g'
  # With a call of a user in between, for which the daemon takes that user's ids on.
  sh_try "hard links" "echo x >l; ${user[*]} sh -c 'echo y >lu'; ln l l2; ln lu lu2; ${user[*]} ln lu lu3; [[ \$(stat -c %h l lu) == \$'2\n3' ]]"
  sh_try "read as root what only its user may" '[[ $(cat secret) == x ]]'
  sh_try "write as root what only its user may" 'echo y >frozen; [[ $(cat frozen) == y ]]'
  sh_try "chown" 'echo x >c; chown 1000:2000 c; [[ $(stat -c %u:%g c) == 1000:2000 ]]'
  sh_try "chmod and touch the file of a user" 'chmod 640 theirs; touch -d @1 theirs; setfattr -n user.a -v b theirs'
  sh_try "keep setgid" 'chmod 2755 group; [[ $(stat -c %a group) == 2755 ]]'
  sh_try "mknod" 'mknod null c 1 3; mkfifo fifo; [[ $(stat -c %t:%T null) == 1:3 ]]'
  sh_try "setcap" 'cp /bin/true tc; setcap cap_net_raw+ep tc; getcap tc | grep net_raw'
  sh_try "inode flags" 'echo x >i; chattr +i i; if echo y >i; then exit 1; fi; chattr -i i; echo y >i'
  sh_try "ACL" 'echo x >acl; setfacl -m u:1234:rw acl; getfacl -n acl | grep 1234'
  sh_try "trusted.*" 'echo x >tr; setfattr -n trusted.a -v b tr; getfattr -n trusted.a tr | grep b'
  sh_try "security.*" 'echo x >se; setfattr -n security.a -v b se'
}
