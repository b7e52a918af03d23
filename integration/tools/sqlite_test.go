package tools

import (
	"bufio"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// sqlShell is a sqlite3 that stays: one connection to a database.
type sqlShell struct {
	t   *testing.T
	in  io.WriteCloser
	out *bufio.Reader
	cmd *exec.Cmd
}

// shell starts one in the workshop; it ends with the test.
func shell(w harness.Workshop, db string) *sqlShell {
	w.T.Helper()
	argv := append(append([]string{}, w.Prefix...), "sqlite3", "-bail", db)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = w.Dir, w.Env, &syscall.SysProcAttr{Setsid: true}
	in, err := cmd.StdinPipe()
	require.NoError(w.T, err)
	out, err := cmd.StdoutPipe()
	require.NoError(w.T, err)
	cmd.Stderr = cmd.Stdout
	require.NoError(w.T, cmd.Start())
	s := &sqlShell{t: w.T, in: in, out: bufio.NewReader(out), cmd: cmd}
	w.T.Cleanup(s.end)
	return s
}

// say runs statements and returns their output, without the mark of the end.
func (s *sqlShell) say(sql string) string {
	s.t.Helper()
	_, err := io.WriteString(s.in, sql+"\n.print =done\n")
	require.NoError(s.t, err)
	var b strings.Builder
	for {
		line, err := s.out.ReadString('\n')
		require.NoError(s.t, err, "%s", b.String()+line)
		if line == "=done\n" {
			return b.String()
		}
		b.WriteString(line)
	}
}

// end closes the connection; it must have gone well. Idempotent.
func (s *sqlShell) end() {
	if s.cmd.ProcessState == nil {
		_ = s.in.Close()
		require.NoError(s.t, s.cmd.Wait())
	}
}

const sqlWAL = "pragma journal_mode=wal; create table t(x); insert into t values(1);"

func TestToolSQLiteWorksAsNatively(t *testing.T) {
	b := newBench(t, harness.WithFiles("f"))
	b.same(
		[]string{"sqlite3", "-bail", "db", sqlWAL},
		[]string{"sqlite3", "-bail", "db", "with recursive n(i) as (select 1 union all select i+1 from n where i<5000) insert into t select i from n;"},
		[]string{"sqlite3", "-bail", "db", "delete from t where x%3=0; vacuum; pragma wal_checkpoint(truncate);"},
		[]string{"sqlite3", "-bail", "journal", "create table t(x); insert into t values(1); update t set x=2;"},
	)
	b.sameTrees(nil, harness.LeaveTimes)
	require.Equal(t, "ok\n3335\n", b.holder.OK("sqlite3", "db", "pragma integrity_check; select count(*) from t;"))
}

// Two connections of the holder share a WAL: its index is mapped memory, and
// its locks are the kernel's.
func TestToolSQLiteTwoConnectionsShareAWAL(t *testing.T) {
	b := newBench(t, harness.WithFiles("f"))
	b.holder.OK("sqlite3", "-bail", "db", sqlWAL)
	holder := b.holder
	holder.Prefix = append(append([]string{}, b.holder.Prefix...), "sh", "-c")
	one := `sqlite3 -bail db ".timeout 600000" "begin immediate; insert into t select max(x)+1 from t; commit;"`
	holder.OK("set -e; for i in 1 2 3 4 5 6 7 8 9 10; do " + one + "; done & for i in 1 2 3 4 5 6 7 8 9 10; do " + one + "; done; wait $!")
	require.Equal(t, "ok\n21|21\n", b.stranger.OK("cp", "db", b.plain+"/db")+
		b.native.OK("sqlite3", "db", "pragma integrity_check; select count(*), max(x) from t;"))
}

// While the holder has the database open a stranger reads what is committed,
// and cannot write. Without the holder's index file it cannot open it at all,
// as with every database in WAL mode on a read-only file system.
func TestToolSQLiteIsRefusedWhileAnotherHolds(t *testing.T) {
	b := newBench(t, harness.WithFiles("f"))
	b.holder.OK("sqlite3", "-bail", "db", sqlWAL)
	b.holder.OK("sqlite3", "-bail", "journal", "create table t(x); insert into t values(7);")
	b.whileHeld(func(s harness.Workshop) {
		s.Fails(14, "unable to open database file (14)", "sqlite3", "-bail", "db", "select x from t;")
		s.Fails(14, "unable to open database file (14)", "sqlite3", "-bail", "db", "insert into t values(2);")
		require.Equal(t, "7\n", s.OK("sqlite3", "-bail", "journal", "select x from t;"))
		s.Fails(8, "attempt to write a readonly database (8)", "sqlite3", "-bail", "journal", "insert into t values(2);")
	})
	open := shell(b.holder, "db")
	open.say("insert into t values(2);")
	require.Equal(t, "1\n2\n", b.stranger.OK("sqlite3", "-bail", "db", "select x from t;"))
	b.stranger.Fails(8, "attempt to write a readonly database (8)", "sqlite3", "-bail", "db", "insert into t values(3);")
	open.say("insert into t values(4);")
	require.Equal(t, "1\n2\n4\n", b.stranger.OK("sqlite3", "-bail", "db", "select x from t;"))
	require.Equal(t, "3\n", open.say("select count(*) from t;"))
	open.end()
}
