#!/usr/bin/env bash
# Several hosts for real: installs a distributed file system from Debian, starts its servers and two hosts in namespaces of
# their own, and runs the stories of integration/hosts over it. Needs root and nothing else; nothing of it stays.
#
#   scripts/hosts-test.sh                    the stories, those that wait for a silent host, and chaos
#   scripts/hosts-test.sh --quick            the stories that need no long wait: what scripts/test.sh runs
#
#   --engine NAME         the file system: glusterfs (the default), cephfs, moosefs, or juicefs, whose program JUICEFS names;
#                         etcd: one of this machine, and leases in etcd
#   --cost                what jvsfs costs on that file system: works on the bare client and through jvsfs, in turn, with the requests
#   --minutes N           how long the chaos goes on (3)
#   --seed S              of the chaos; it is printed
#   --rely                with --agent: the hosts rely on it (rely_on_fence), and a record counts when its fsync has returned
#   --agent               the chaos with the shipped fence agents, and nothing else (etcd has chaos with and without one in any case)
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"

usage() { sed -n '/^#   /s/^#   //p' "${BASH_SOURCE[0]}" >&2 && exit 2; }

engine=glusterfs minutes=3 seed='' quick='' cost='' agent='' rely=''
parse() {
  while (($#)); do
    case $1 in
    --engine) engine=${2-} && shift ;;
    --minutes) minutes=${2-} && shift ;;
    --seed) seed=${2-} && shift ;;
    --quick) quick=1 ;;
    --cost) cost=1 ;;
    --agent) agent=1 ;;
    --rely) rely=1 ;;
    *) usage ;;
    esac
    shift || usage
  done
  # 10# because 08 is no octal number.
  [[ $minutes =~ ^[0-9]{1,4}$ && $seed =~ ^[0-9]{0,18}$ ]] || usage
  minutes=$((10#$minutes))
  [[ -z $rely || $agent ]] || usage
  [[ -z $seed ]] || seed=$((10#$seed))
}
parse "$@"
[[ -v HOSTS_ENGINES[$engine] ]] || die "there are no stories for $engine: --engine takes ${!HOSTS_ENGINES[*]}"
become_root "$here/hosts-test.sh" "$@"
read -ra tools <<<"${HOSTS_ENGINES[$engine]}"
install_missing "${TEST_TOOLS[@]}" "${HOSTS_TOOLS[@]}"
without_services install_missing "${tools[@]}"
need_go "$root"
need_fuse || die "jvsfs cannot mount without /dev/fuse"
cd "$root"
export GOFLAGS="${GOFLAGS:-} -buildvcs=false" JVSFS_REQUIRE_FUSE=1 JVSFS_HOSTS_ENGINE="$engine"

if [[ $engine == etcd ]]; then # what only this engine has: its stories, chaos, and its rules against a real server
  [[ $quick ]] || export JVSFS_ETCD_GRANTS=2000 JVSFS_HOSTS_MINUTES="$minutes" JVSFS_HOSTS_SEED="$seed"
  CGO_ENABLED=1 JVSFS_NEED_ETCD=1 exec go test -race -count=1 -v -timeout "$((minutes + 40))m" -tags jvsfs_hosts ./integration/etcd ./lease/etcd
fi
if [[ $cost ]]; then
  install_missing git:git tar:tar gcc:gcc make:make
  JVSFS_HOSTS_COST=1 exec go test -count=1 -v -timeout 40m -tags jvsfs_hosts -run '^TestCost$' ./integration/hosts
fi
if [[ $agent ]]; then
  exec env JVSFS_HOSTS_AGENT=1 JVSFS_HOSTS_RELY="$rely" JVSFS_HOSTS_MINUTES="$minutes" JVSFS_HOSTS_SEED="$seed" \
    go test -count=1 -v -timeout "$((minutes + 40))m" -tags jvsfs_hosts -run '^TestChaos$' ./integration/hosts
fi
if [[ $quick ]]; then
  exec go test -count=1 -v -timeout 40m -parallel 4 -tags jvsfs_hosts -run '^TestQuick' ./integration/hosts
fi
exec env JVSFS_HOSTS_MINUTES="$minutes" JVSFS_HOSTS_SEED="$seed" \
  go test -count=1 -v -timeout "$((minutes + 60))m" -tags jvsfs_hosts ./integration/hosts
