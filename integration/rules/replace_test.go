package rules

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate/tenure"
	"github.com/jvsfs/jvsfs/integration/harness"
	"github.com/jvsfs/jvsfs/integration/operation"
)

// replaceRules are of all kinds that a replacement must keep.
const replaceRules = `- name: agency
  lock: 'repos/{repo}/.lock'
  taken_by: create
  guards: ['repos/{repo}/**']
  except: ['repos/*/.lock']
  break: {gone: true, after: 1h}
- name: old
  lock: 'old/{repo}/.lock'
  taken_by: create
  guards: ['old/{repo}/**']
  except: ['old/*/.lock']
  once: ['old/*/made-*']
  break: {after: 10s}
- name: free
  lock: 'free/{f}.lock'
  taken_by: create
  guards: ['free/{f}.data']
  without: allow
- name: swept
  lock: 'swept/{f}.lock'
  taken_by: create
  guards: ['swept/{f}.data']
  on_gone: remove
- name: grows
  append: ['log/*']
- name: record
  lock: 'record/{w}.json'
  taken_by: record
  record: {nonce: n, token: t, expires: e}
  guards: ['record/{w}.data']
`

func replaced(t *testing.T) *harness.Mount {
	t.Helper()
	return mountWith(t, replaceRules, "repos/a/f", "repos/b/f", "old/a/f", "free/a.data", "swept/a.data", "log/a", "record/w.data", "other")
}

// replace is jvsfs mount --replace with the options of the mount. It returns the daemons that were there before.
func replace(m *harness.Mount) (before []int) {
	m.T.Helper()
	before = m.Daemons()
	extra := m.Opts.Extra
	m.Opts.Extra = append(slices.Clone(extra), "--replace")
	m.Mount()
	m.Opts.Extra = extra
	return before
}

func hasEnded(m *harness.Mount, pids []int) {
	m.T.Helper()
	harness.Eventually(m.T, "the old daemon has ended", func() bool {
		return !slices.ContainsFunc(pids, func(pid int) bool { s := harness.ProcState(pid); return s != "" && s != "Z" && s != "X" })
	})
}

// lockNamed is a row of jvsfs status.
func lockNamed(m *harness.Mount, id string) (v tenure.View) {
	m.T.Helper()
	var status struct {
		Mounts []struct {
			Mountpoint string
			Rules      []tenure.View
		}
	}
	require.NoError(m.T, json.Unmarshal([]byte(m.MustCLI("status", "--json")), &status))
	for _, mount := range status.Mounts {
		for _, one := range mount.Rules {
			if one.ID == id && mount.Mountpoint == m.Mountpoint {
				return one
			}
		}
	}
	require.Fail(m.T, "no such lock", id)
	return v
}

func put(path, text string) harness.Command {
	return harness.Command{Op: "writefile", Path: path, Flags: unix.O_CREAT, Mode: 0o644, Data: []byte(text)}
}

func remove(path string) harness.Command { return harness.Command{Op: "unlink", Path: path} }

// The holder of a lock is the holder under the next daemon, and the one after that, under the same number. Whoever is not stays out.
func TestAReplacementKeepsTheHolderOfALock(t *testing.T) {
	m := replaced(t)
	holder, other, gone := harness.StartActor(t, "holder"), harness.StartActor(t, "other"), harness.StartActor(t, "gone")
	a, b, c := m.At("repos", "a", ".lock"), m.At("repos", "b", ".lock"), m.At("repos", "c", ".lock")
	free, swept := m.At("free", "a.lock"), m.At("swept", "a.lock")
	require.NoError(t, os.Mkdir(m.Behind("repos", "c"), 0o755))
	try(t, holder, []attempt{{"take a", take(a), ""}, {"take b", take(b), ""}, {"give up b", remove(b), ""}, {"take what is free", take(free), ""}})
	try(t, gone, []attempt{{"take c", take(c), ""}, {"take what is swept", take(swept), ""}})
	was, freeWas := lockNamed(m, "agency{repo=a}"), lockNamed(m, "free{f=a}")
	for range 2 {
		hasEnded(m, replace(m))
		try(t, other, []attempt{
			{"another writes", put(m.At("repos", "a", "f"), "y"), "EROFS"}, {"another removes the lock", remove(a), "EROFS"},
			{"another writes beside the lock", put(m.At("free", "a.data"), "y"), "EROFS"}, {"nobody holds b", put(m.At("repos", "b", "f"), "y"), "EROFS"},
			{"make the lock", take(a), "EEXIST"}, {"nobody holds it and no rule says so", put(m.At("other"), "y"), ""},
		})
		try(t, holder, []attempt{{"the holder writes", put(m.At("repos", "a", "f"), "x"), ""}, {"and makes a file", put(m.At("repos", "a", "g"), "x"), ""},
			{"and renames it", harness.Command{Op: "rename", Path: m.At("repos", "a", "g"), To: m.At("repos", "a", "h")}, ""}, {"what is free without a lock", put(m.At("free", "a.data"), "x"), ""}})
		is := lockNamed(m, "agency{repo=a}")
		require.Equal(t, []any{was.Tenure, was.Holder, was.Since.UnixNano(), was.State}, []any{is.Tenure, is.Holder, is.Since.UnixNano(), is.State})
		require.Equal(t, freeWas.Tenure, lockNamed(m, "free{f=a}").Tenure)
	}
	gone.End()
	harness.Eventually(t, "the new daemon removes the lock of one who has ended", func() bool { _, err := os.Lstat(m.Behind("swept", "a.lock")); return os.IsNotExist(err) })
	try(t, other, []attempt{{"break the lock of a dead one", remove(c), ""}, {"take c", take(c), ""}, {"write c", put(m.At("repos", "c", "f"), "y"), ""}})
	try(t, holder, []attempt{{"a late unlock", remove(a), ""}, {"the holder is none any more", put(m.At("repos", "a", "f"), "x"), "EROFS"}})
	try(t, other, []attempt{{"take a", take(a), ""}, {"write a", put(m.At("repos", "a", "f"), "y"), ""}})
	require.Greater(t, lockNamed(m, "agency{repo=a}").Tenure, was.Tenure)
}

// A lock ages over a replacement as without one; who was robbed of it stays robbed, and what was made under it is not fixed yet.
func TestAReplacementKeepsTheAgeAndTheRobbedOfALock(t *testing.T) {
	m := replaced(t)
	slow, next, third := harness.StartActor(t, "slow"), harness.StartActor(t, "next"), harness.StartActor(t, "third")
	lock, a, made := m.At("old", "a", ".lock"), m.At("repos", "a", ".lock"), m.At("old", "a", "made-1")
	begun := time.Now()
	try(t, slow, []attempt{{"take", take(lock), ""}, {"take a", take(a), ""}, {"make", put(made, "x"), ""}})
	hasEnded(m, replace(m))
	try(t, slow, []attempt{{"what it has made", put(made, "y"), ""}})
	try(t, next, []attempt{{"it is not stale yet", remove(a), "EROFS"}})
	harness.Eventually(t, "it is stale", func() bool { return next.Do(remove(lock)).Errno == "" })
	require.GreaterOrEqual(t, time.Since(begun), 10*time.Second, "the true age counts, and no less")
	try(t, next, []attempt{{"take", take(lock), ""}})
	number := lockNamed(m, "old{repo=a}").Tenure
	hasEnded(m, replace(m))
	try(t, slow, []attempt{
		{"who was robbed writes", put(m.At("old", "a", "f"), "x"), "EROFS"}, {"a late unlock", remove(lock), "EROFS"}, {"what it has made is fixed", put(made, "z"), "EROFS"},
	})
	try(t, third, []attempt{{"another removes it", remove(lock), "EROFS"}})
	try(t, next, []attempt{{"the next one writes", put(m.At("old", "a", "f"), "y"), ""}})
	require.Equal(t, number, lockNamed(m, "old{repo=a}").Tenure)
	m.KillDaemon()
	m.Recover()
	try(t, slow, []attempt{{"a recovery knows, too, who was robbed", remove(lock), "EROFS"}})
	try(t, next, []attempt{{"give up", remove(lock), ""}})
	try(t, slow, []attempt{{"take it anew", take(lock), ""}, {"write", put(m.At("old", "a", "f"), "x"), ""}})
}

// A record is followed over a replacement.
func TestARecordIsFollowedOverAReplacement(t *testing.T) {
	m := replaced(t)
	holder, thief := harness.StartActor(t, "holder"), harness.StartActor(t, "thief")
	path, data := m.At("record", "w.json"), m.At("record", "w.data")
	record := func(nonce string, token int, expires time.Time) string {
		return `{"n":"` + nonce + `","t":` + strconv.Itoa(token) + `,"e":"` + expires.UTC().Format(time.RFC3339) + `"}`
	}
	move := func(a *harness.Actor, text string) string {
		a.OK(put(m.At("record", "tmp"), text))
		return a.Do(harness.Command{Op: "rename", Path: m.At("record", "tmp"), To: path}).Errno
	}
	later := time.Now().Add(time.Hour)
	require.Empty(t, move(holder, record("one", 1, later)))
	hasEnded(m, replace(m))
	require.Equal(t, "EROFS", move(thief, record("two", 2, later)), "it has not expired")
	try(t, thief, []attempt{{"a stranger writes", put(data, "y"), "EROFS"}})
	require.Empty(t, move(holder, record("one", 1, time.Now().Add(-time.Hour))))
	try(t, holder, []attempt{{"the holder writes", put(data, "x"), ""}})
	hasEnded(m, replace(m))
	require.Empty(t, move(thief, record("two", 2, later)), "it has expired")
	try(t, holder, []attempt{{"who was robbed writes", put(data, "x"), "EROFS"}})
	try(t, thief, []attempt{{"the next one writes", put(data, "y"), ""}})
}

// fire writes what a lock guards, makes and removes names, without a pause until the file To exists or its turn is over. Data is how
// often each of it ended how.
func fire(s *operation.Box, c operation.Command) error {
	seen := map[string]int{}
	count := func(what, errno string) { seen[what+" "+errno]++ }
	b := operation.NewBox(c.Path)
	for begun := time.Now(); time.Since(begun) < 2*time.Second; {
		opened := b.Play("open f wo,append =f").Errno
		if count("open", opened); opened == "" {
			count("write", b.Perform(operation.Command{Op: "write", Handle: "f", Data: []byte("x\n")}).Errno)
			b.Drop()
		}
		for what, line := range map[string]string{
			"chmod": "chmod f 0644", "make": "mkdir " + c.Name, "move": "rename " + c.Name + " " + c.Name + "2", "end": "rmdir " + c.Name + "2",
		} {
			if errno := b.Play(line).Errno; errno != "ENOENT" && errno != "EEXIST" { // the order is chance
				count(what, errno)
			}
		}
		if _, err := os.Lstat(c.To); err == nil {
			break
		}
	}
	var err error
	s.Data, err = json.Marshal(seen)
	return err
}

func init() { operation.Add("rules.fire", fire) }

type fired struct {
	seen map[string]int
	err  error
}

// underFire has an actor fire until the file exists.
func underFire(a *harness.Actor, dir, name, stop string) <-chan fired {
	done := make(chan fired, 1)
	go func() {
		all := fired{seen: map[string]int{}}
		for all.err == nil {
			var r harness.Reply
			var turn map[string]int
			if r, all.err = a.Try(harness.Command{Op: "rules.fire", Path: dir, Name: name, To: stop}); all.err == nil {
				all.err = json.Unmarshal(r.Data, &turn)
			}
			for what, n := range turn {
				all.seen[what] += n
			}
			if _, err := os.Lstat(stop); err == nil {
				break
			}
		}
		done <- all
	}()
	return done
}

// No call of the holder fails while daemons are replaced one after the other, and none of a stranger succeeds.
func TestNoHolderOfALockFailsDuringReplacements(t *testing.T) {
	m := replaced(t)
	holder, stranger := harness.StartActor(t, "holder"), harness.StartActor(t, "stranger")
	try(t, holder, []attempt{{"take", take(m.At("repos", "a", ".lock")), ""}})
	was := lockNamed(m, "agency{repo=a}")
	stop := filepath.Join(m.Base, "stop")
	held, strange := underFire(holder, m.At("repos", "a"), "held", stop), underFire(stranger, m.At("repos", "a"), "strange", stop)
	for range harness.Rounds(6) {
		hasEnded(m, replace(m))
		require.Equal(t, was.Tenure, lockNamed(m, "agency{repo=a}").Tenure)
	}
	require.NoError(t, os.WriteFile(stop, nil, 0o600))
	own, other := <-held, <-strange
	require.NoError(t, own.err)
	require.NoError(t, other.err)
	t.Log(own.seen, other.seen)
	for what := range own.seen { // the kernel walks the two paths of a rename one after the other: they may lead to two mounts
		require.Contains(t, []string{"open ", "write ", "chmod ", "make ", "move ", "move EXDEV", "end "}, what)
	}
	require.LessOrEqual(t, own.seen["move EXDEV"], harness.Rounds(6), "once for each replacement at most")
	for what := range other.seen {
		require.Contains(t, []string{"open EROFS", "chmod EROFS", "make EROFS", "move EROFS", "move EXDEV", "end EROFS"}, what)
	}
	require.Len(t, harness.ReadText(t, m.Behind("repos", "a", "f")), len("0123456789")+2*own.seen["write "])
}

// A file that is open under a tenure is written through the old daemon, until the tenure ends under the new one. Then nothing lands
// any more.
func TestFilesOpenUnderALockAreWrittenThroughTheReplacedDaemon(t *testing.T) {
	m := replaced(t)
	holder, next, anybody := harness.StartActor(t, "holder"), harness.StartActor(t, "next"), harness.StartActor(t, "anybody")
	lock, free := m.At("repos", "a", ".lock"), m.At("free", "a.lock")
	open := func(a *harness.Actor, handle string, flags int, path ...string) {
		a.OK(harness.Command{Op: "open", Handle: handle, Path: m.At(path...), Flags: flags})
	}
	write := func(handle string) harness.Command {
		return harness.Command{Op: "pwrite", Handle: handle, Data: []byte("x")}
	}
	try(t, holder, []attempt{{"take", take(lock), ""}})
	open(holder, "f", unix.O_RDWR, "repos", "a", "f")
	holder.OK(harness.Command{Op: "mmap", Handle: "f", Name: "f", Len: 10})
	open(anybody, "free", unix.O_WRONLY, "free", "a.data")
	open(anybody, "grows", unix.O_WRONLY, "log", "a")
	open(anybody, "appends", unix.O_WRONLY|unix.O_APPEND, "log", "a")
	old := replace(m)
	hasEnded(m, replace(m)[1:])
	try(t, holder, []attempt{{"the holder's open file", write("f"), ""}, {"it is made durable", harness.Command{Op: "fsync", Handle: "f"}, ""}})
	try(t, anybody, []attempt{
		{"what needs no lock while nobody has it", write("free"), ""}, {"an append", harness.Command{Op: "write", Handle: "appends", Data: []byte("x")}, ""},
		{"whose end is another's", harness.Command{Op: "pwrite", Handle: "grows", Data: []byte("x"), Off: 11}, "EROFS"},
	})
	holder.OK(harness.Command{Op: "store", Name: "f", Off: 3, Data: []byte("stored")})
	try(t, holder, []attempt{{"give up", remove(lock), ""}, {"late", write("f"), "EROFS"}})
	try(t, next, []attempt{{"take", take(lock), ""}, {"write", put(m.At("repos", "a", "g"), "y"), ""}, {"take what is free", take(free), ""}})
	require.Equal(t, "x12stored9", harness.ReadText(t, m.Behind("repos", "a", "f")), "what was stored through a mapping landed before the lock was free")
	try(t, holder, []attempt{{"late", write("f"), "EROFS"}})
	try(t, anybody, []attempt{{"late", write("free"), "EROFS"}})
	try(t, next, []attempt{{"give up what is free", remove(free), ""}})
	try(t, anybody, []attempt{{"the file must be opened again", write("free"), "EROFS"}, {"which anybody may", put(m.At("free", "a.data"), "y"), ""}})
	holder.OK(harness.Command{Op: "munmap", Name: "f"})
	holder.OK(harness.Command{Op: "close", Handle: "f"})
	for _, h := range []string{"free", "grows", "appends"} {
		anybody.OK(harness.Command{Op: "close", Handle: h})
	}
	hasEnded(m, old)
}

// An old daemon that is stopped does not keep a lock for ever: it is ended, and what it has in flight.
func TestAStoppedReplacedDaemonIsEnded(t *testing.T) {
	m := replaced(t)
	holder, next := harness.StartActor(t, "holder"), harness.StartActor(t, "next")
	lock := m.At("repos", "a", ".lock")
	try(t, holder, []attempt{{"take", take(lock), ""}})
	holder.OK(harness.Command{Op: "open", Handle: "f", Path: m.At("repos", "a", "f"), Flags: unix.O_WRONLY})
	old := replace(m)
	require.NoError(t, unix.Kill(old[0], unix.SIGSTOP))
	try(t, holder, []attempt{{"give up", remove(lock), ""}})
	hasEnded(m, old)
	try(t, next, []attempt{{"take", take(lock), ""}, {"write", put(m.At("repos", "a", "f"), "y"), ""}})
	_ = holder.Do(harness.Command{Op: "close", Handle: "f"})
}

// Who stands in the old mount changes nothing there that rules cover, and is told.
func TestNobodyWritesCoveredFilesInTheReplacedMount(t *testing.T) {
	m := replaced(t)
	holder := harness.StartActor(t, "holder")
	try(t, holder, []attempt{{"take", take(m.At("repos", "a", ".lock")), ""}})
	holder.OK(harness.Command{Op: "chdir", Path: m.At("repos", "a")})
	old := replace(m)
	try(t, holder, []attempt{
		{"write", put("f", "x"), "EROFS"}, {"make", put("g", "x"), "EROFS"}, {"remove the lock", remove(".lock"), "EROFS"},
		{"chmod", harness.Command{Op: "chmod", Path: "f", Mode: 0o600}, "EROFS"}, {"what no rule covers", put("../../other", "x"), ""},
		{"a path leads to the new one", put(m.At("repos", "a", "f"), "x"), ""},
	})
	require.Contains(t, harness.ReadText(t, m.LogFile()), `cd \"$PWD\"`)
	holder.OK(harness.Command{Op: "chdir", Path: m.At("repos", "a")})
	try(t, holder, []attempt{{"write", put("f", "y"), ""}, {"remove the lock", remove(".lock"), ""}})
	holder.OK(harness.Command{Op: "chdir", Path: "/"})
	hasEnded(m, old)
}
