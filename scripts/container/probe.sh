#!/usr/bin/env bash
# Tries every family of calls through the mount at /probe/tree, with all privileges, and
# prints the families that fail. Runs in a container beside a daemon that has less. The
# files of others were there before it was mounted.
set -uo pipefail

# shellcheck source=scripts/container/families.sh
. /probe-families.sh

families /probe/tree || exit
sh_try "lease of a user's process" "${user[*]} jvsfs exec /probe/tree -- true; ${user[*]} sh -c 'echo x >lease'"
sh_try "status and explain" 'jvsfs status | grep serving; jvsfs explain /probe/tree/u'
sh_try "doctor" 'jvsfs doctor --json | grep "\"ok\": *true"'
"${user[@]}" sleep 30 &
busy=$!
until [[ $(</proc/$busy/comm) == sleep ]]; do sleep 0.05; done
try "who keeps it busy" bash -c 'cd / && jvsfs umount /probe/tree 2>&1 | grep sleep'
kill "$busy"
wait "$busy" 2>/dev/null
# shellcheck disable=SC2016 # bash -c expands it
sh_try "priority" '[[ $(ps -o ni= -p "$(jvsfs status --json | sed -n "s/.*\"pid\": *\([0-9]*\).*/\1/p" | head -n 1)") -eq -10 ]]'
cd /
sh_try "unmount" 'jvsfs umount /probe/tree'
