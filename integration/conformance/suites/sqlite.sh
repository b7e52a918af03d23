# sqlite's locking: several writers at once, in every journal mode, and a writer that
# is killed in the middle.
# shellcheck shell=bash

sql() { timeout -k 5 120 sqlite3 -batch -bail -cmd '.timeout 60000' "$@"; }

# rows N WRITER: statements that each need the lock.
rows() {
  local i
  for ((i = 0; i < $1; i++)); do
    printf "BEGIN IMMEDIATE; INSERT INTO t VALUES(%d, %d, hex(randomblob(200))); UPDATE c SET n = n + 1; COMMIT;\n" "$2" "$i"
  done
}

# writers DB JOURNAL MANY: that many writers, then what they left.
writers() {
  local db=$1 journal=$2 many=$3 i pids=()
  sql "$db" "PRAGMA journal_mode=$journal; CREATE TABLE t(w, i, x); CREATE TABLE c(n); INSERT INTO c VALUES(0);" >&2
  for ((i = 0; i < many; i++)); do
    { printf 'PRAGMA journal_mode=%s;\n' "$journal" && rows 25 "$i"; } | sql "$db" >&2 &
    pids+=($!)
  done
  for i in "${pids[@]}"; do
    wait "$i" || echo "a writer failed"
  done
  sql "$db" 'PRAGMA integrity_check; SELECT count(*), count(DISTINCT w || "-" || i) FROM t; SELECT n FROM c;' | tr '\n' ' '
}

# killed DB JOURNAL: a writer is killed inside a transaction; the next one recovers.
killed() {
  local db=$1 journal=$2 pid
  sql "$db" "PRAGMA journal_mode=$journal; CREATE TABLE t(x); INSERT INTO t VALUES(1);" >&2
  (printf 'PRAGMA journal_mode=%s; PRAGMA cache_size=2; BEGIN IMMEDIATE;\n' "$journal" &&
    printf "INSERT INTO t SELECT hex(randomblob(5000)) FROM (WITH RECURSIVE k(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM k LIMIT 400) SELECT i FROM k);\n" &&
    sleep 60) | sqlite3 -batch "$db" >&2 &
  pid=$!
  sleep 1.5
  kill -9 "$pid" 2>/dev/null
  wait "$pid" 2>/dev/null
  sql "$db" 'PRAGMA integrity_check; SELECT count(*) FROM t; INSERT INTO t VALUES(2); SELECT count(*) FROM t;' 2>&1 | tr '\n' ' '
}

suite_sqlite() {
  local journal
  for journal in delete truncate persist wal; do
    printf 'sqlite/%s/two-writers\t%s\n' "$journal" "$(writers "$1/$journal.db" "$journal" 2)"
    printf 'sqlite/%s/five-writers\t%s\n' "$journal" "$(writers "$1/${journal}5.db" "$journal" 5)"
    printf 'sqlite/%s/killed\t%s\n' "$journal" "$(killed "$1/$journal-killed.db" "$journal")"
  done
  printf 'sqlite/exclusive\t%s\n' "$(sql "$1/e.db" 'PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; CREATE TABLE t(x); INSERT INTO t VALUES(1); SELECT * FROM t; PRAGMA wal_checkpoint(TRUNCATE);' | tr '\n' ' ')"
  printf 'sqlite/mmap\t%s\n' "$(sql "$1/m.db" 'PRAGMA mmap_size=268435456; CREATE TABLE t(x); INSERT INTO t SELECT zeroblob(1000000); INSERT INTO t VALUES(2); SELECT count(*), sum(length(x)) FROM t; VACUUM; PRAGMA integrity_check;' | tr '\n' ' ')"
}
