# A tree of a million files, walked through a mount whose daemon may have 20,000
# descriptors: neither descriptors nor memory may go beyond what `status` shows.
# shellcheck shell=bash disable=SC2154

# check_limits FILES: prints what the daemon used over time, and fails beyond the budget.
check_limits() {
  title "A tree of $1 files, made behind the mount"
  mkdir -p "$work/backing"
  "$work/conformance" tree "$work/backing" "$1"
  # With CAP_SYS_RESOURCE the daemon would raise its limit.
  mount_it prlimit --nofile=20000:20000 setpriv --inh-caps=-sys_resource --bounding-set=-sys_resource
  title "Walked three times"
  timeout -k 5 3600 "$work/conformance" limits "$bin" "$mountpoint" "$1"
  printf 'ok    within the budget\n'
}
