# shellcheck shell=bash
# What the dashboard is drawn of: about a minute of two mounts, an exporter and Prometheus, on a machine of its own
# (TestDashboardIsDrawn sources it). Leaves $MACHINE/{dashboard.png,report.json,metrics,broken/report.json}.
# RENDERER is a directory with render.mjs and its packages, BROKEN a dashboard with mistakes.

readonly EXPORTER=127.0.0.1:19747 PROMETHEUS=127.0.0.1:19090
readonly SCRAPE_INTERVAL=1s
export SCRAPE_INTERVAL
export TMPDIR=/srv # Chromium's profile goes with the machine

metrics() { curl -sSf "http://$EXPORTER/metrics"; }

# scraped: how often Prometheus has scraped, 0 at first.
scraped() {
  curl -s --data-urlencode 'query=sum(count_over_time(up[1h]))' "http://$PROMETHEUS/api/v1/query" |
    sed -n 's/.*,"\([0-9]*\)"\]}.*/\1/p'
}

# scrapes N: wait for so many more.
scrapes() {
  local before
  before=$(scraped)
  until ((${before:-0} + $1 <= $(scraped)+0)); do sleep 0.2; done
}

start_monitoring() {
  jvsfs exporter --listen "$EXPORTER" >/srv/exporter.log 2>&1 &
  printf 'global: {scrape_interval: %s, evaluation_interval: 5s}\n' "$SCRAPE_INTERVAL" >/srv/prometheus.yml
  sed -e "s|/usr/share/jvsfs/monitoring|$CHECKOUT/scripts/monitoring|" -e "s|127.0.0.1:9747|$EXPORTER|" \
    "$CHECKOUT/scripts/monitoring/prometheus.yml" >>/srv/prometheus.yml
  prometheus --config.file=/srv/prometheus.yml --storage.tsdb.path=/srv/data --web.listen-address="$PROMETHEUS" >/srv/prometheus.log 2>&1 &
  until metrics >/srv/first && [[ $(scraped) -gt 0 ]]; do sleep 0.2; done
}

agents=()
# works WORKTREE PAUSE TASK: an agent that holds its lease and writes, until /srv/enough.NAME is there,
# and holds it without writing while /srv/pause is.
works() {
  local name=${1##*/}
  # shellcheck disable=SC2016 # sh expands them
  jvsfs exec --purpose "$3" "$1" -- sh -c \
    'until [ -e "/srv/enough.$2" ]; do while [ -e /srv/pause ]; do sleep 1; done; echo work >>"$1/log"; mv "$1/log" "$1/log.old"; cat "$1"/* >/dev/null; sleep "$3"; done' sh "$1" "$name" "$2" &
  agents+=($!)
}

# intrudes FILE TIMES: writes without the lease, as somebody else.
intrudes() {
  # shellcheck disable=SC2016
  setsid --wait sh -c 'n=0; while [ $n -lt "$2" ]; do n=$((n + 1)); echo intruder >"$1"; sleep 0.1; done' sh "$1" "$2" 2>/dev/null || true
}

mkdir -p /srv/team/.jvs /srv/team/main /srv/team/worktrees/agent{1..3} /srv/notes
jvsfs mount --on-free deny --log-file /srv/team.log /srv/team
jvsfs mount --enforce observe --on-free deny --log-file /srv/notes.log /srv/notes
FROM=$(date +%s%3N)
start_monitoring
works /srv/team/worktrees/agent1 0.05 'fix the parser'
scrapes 4
works /srv/team/worktrees/agent2 0.2 'write the tests'
intrudes /srv/notes/todo 40 &
scrapes 4
works /srv/team/worktrees/agent3 0.5 'port to arm64'
intrudes /srv/team/worktrees/agent1/log 30
# One waits until it gets the lease of agent2, one gives up.
jvsfs exec --wait 1m /srv/team/worktrees/agent2 -- true &
jvsfs exec --wait 2s /srv/team/worktrees/agent3 -- true || true
scrapes 5
touch /srv/enough.agent2
jvsfs enforce /srv/notes enforce
scrapes 4
kill -9 "$(jvsfs status --json | sed -n '/"mountpoint": "\/srv\/notes"/,/"pid"/s/.*"pid": \([0-9]*\).*/\1/p' | head -n 1)"
intrudes /srv/team/worktrees/agent3/log 20
scrapes 4
jvsfs umount --bare /srv/notes
jvsfs mount --on-free deny --log-file /srv/notes.log /srv/notes
works /srv/notes 0.3 'sort the notes'
rm -f /srv/enough.agent2
works /srv/team/worktrees/agent2 0.1 'write the tests'
intrudes /srv/notes/todo 5
scrapes 5
# Somebody waits while the picture is taken.
jvsfs exec --wait 5m /srv/team/worktrees/agent1 -- true &
intrudes /srv/team/worktrees/agent1/log 10 &
scrapes 8
TO=$(date +%s%3N)
export FROM TO
touch /srv/pause
metrics >"$MACHINE/metrics"
# draws DASHBOARD OUT
draws() { (cd "$RENDERER" && node render.mjs "$1" "http://$PROMETHEUS" "$2"); }
draws "$CHECKOUT/scripts/monitoring/jvsfs.json" "$MACHINE"
mkdir "$MACHINE/broken"
draws "$BROKEN" "$MACHINE/broken" || true # its report says what is wrong
touch /srv/enough.{agent{1..3},notes}
rm /srv/pause
wait "${agents[@]}"
jvsfs umount /srv/team
jvsfs umount /srv/notes
