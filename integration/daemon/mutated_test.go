package daemon

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// mutants is how many mutated texts of a kind the program is given.
const mutants = 300

// mutator makes broken texts of whole ones, the same in every run.
type mutator struct {
	random *rand.Rand
	texts  []string
	words  []string // are put in somewhere
}

func newMutator(texts []string, words ...string) mutator {
	return mutator{rand.New(rand.NewPCG(8, 15)), texts, append(words, "=", ",", `"`, `\`, "\n", "\t", " ", "#", "-1", "%s%n", "\x1b[2J", "\xff", "ß", "../",
		"99999999999999999999h", strings.Repeat("9", 400), strings.Repeat("[", 2000), strings.Repeat("{a: ", 500))}
}

// next is one of the texts, changed in one to three places.
func (m mutator) next() string {
	b := []byte(m.texts[m.random.IntN(len(m.texts))])
	for range 1 + m.random.IntN(3) {
		from, to := m.random.IntN(len(b)+1), m.random.IntN(len(b)+1)
		from, to = min(from, to), max(from, to)
		switch m.random.IntN(6) {
		case 0:
			b = slices.Insert(b, from, byte(m.random.IntN(256)))
		case 1:
			b = slices.Delete(b, from, min(to, from+8))
		case 2:
			b = slices.Insert(b, to, slices.Clone(b[from:to])...)
		case 3:
			b = b[:to]
		default:
			b = slices.Insert(b, from, []byte(m.words[m.random.IntN(len(m.words))])...)
		}
	}
	return string(b)
}

// expectSaid wants an answer of the program itself, and in a sentence if it is a no.
func expectSaid(t *testing.T, given, out, errs string, exit int, codes ...int) {
	t.Helper()
	require.Contains(t, codes, exit, "%q\n%s%s", given, out, errs)
	for _, sign := range []string{"panic", "goroutine ", "fatal error", "runtime error"} {
		require.NotContains(t, out+errs, sign, "%q", given)
	}
	require.NotContains(t, out+errs, "\x1b", "%q", given)
	if exit != 0 {
		require.Regexp(t, `^jvsfs: \S`, errs, "%q", given)
	}
}

// namesBelow is every name below a directory.
func namesBelow(t *testing.T, dir string) (names []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		names = append(names, path)
		return err
	}))
	return names
}

// Options that are broken in some way are refused in a sentence or taken, by the helper of
// mount(8) in the form that mounts nothing; and nothing is mounted, or made.
func TestBrokenMountOptionsAreRefusedAndMountNothing(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{Prepare: harness.WithFiles("f")})
	config := m.WriteConfig("c.yaml", "on_free: deny\nscope: user\n")
	whole := []string{
		"rw,relatime,nofail,_netdev,x-systemd.automount,comment=hello,user,exec",
		m.Options("ro", "nosuid", "nodev=false"),
		"on_free=deny,scope=cgroup,errno=EPERM,enforce=observe,mode=shared,cache=auto,cache_timeout=2s",
		"config=" + config + `,control="` + m.LockDir + `,x",log-file=` + m.Base + `/a\,b,log_format=text,log_level=warn`,
		"lease_duration_ms=45000,renew-interval=5s,max_clock_skew=1s,steal_grace=500ms",
		"metrics=unix:" + m.Base + "/m.sock,exempt=**/node_modules/.cache/**,exempt=build/*.log,exempt_git=true",
	}
	before := namesBelow(t, m.Base)
	dry := func(options string, flags ...string) int {
		out, errs, exit := m.CLI(append([]string{m.Source, m.Mountpoint, "-f", "-o", options}, flags...)...)
		expectSaid(t, options, out, errs, exit, 0, harness.MountUsage, harness.MountFailed)
		return exit
	}
	for _, options := range whole {
		require.Zero(t, dry(options), options)
	}
	taken, mutate := 0, newMutator(whole, ",ro", ",remount", ",exempt=/", ",config=/\x1b[2J", ",scope", "lease_duration=1ms,")
	for i := range mutants {
		options := strings.ReplaceAll(mutate.next(), "\x00", "\x01") // which no argument can have
		if dry(options, [][]string{nil, {"-s"}, {"-v"}}[i%3]...) == 0 {
			taken++
		}
	}
	require.Greater(t, taken, mutants/20)
	require.Less(t, taken, mutants*19/20)
	require.Empty(t, harness.TopType(t, m.Mountpoint))
	require.Empty(t, harness.ProcessesOf(m.Bin))
	require.Equal(t, before, namesBelow(t, m.Base), "nothing is made")
}

// Configurations that are broken in some way: each is told to be well, or wrong in which
// line.
func TestBrokenConfigurationsAreRefusedWithTheLine(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{})
	whole := []string{
		"source: /srv/repo\nmode: shared\nerrno: EPERM\n",
		"lease_duration: 1h\nrenew_interval_ms: 5000\nmax_clock_skew: 1s\nsteal_grace: 2s\n",
		"on_free: deny\nworktrees:\n  main: {mode: exclusive, on_free: deny}\n  scratch:\n    mode: shared\n",
		"exempt: ['**/node_modules/.cache/**', 'build/*.log']\nexempt_git: true\nworktrees: {a: {exempt: []}}\n",
		"rules:\n  - git\n  - {preset: agency, break: {gone: true}}\n  - name: b\n    lock: '{d...}/.l'\n    taken_by: create\n    guards: ['{d...}/out/**']\n    break: {after: 2h}\n",
		"# all of it\nlog_file: /var/log/j.log # here\nlog_format: \"text\"\nmetrics: unix:/run/m.sock,mode=0660\nro: false\nnosuid: true\n",
	}
	var files, texts []string
	add := func(text string) {
		files, texts = append(files, m.WriteConfig(fmt.Sprintf("%d.yaml", len(files)), text)), append(texts, text)
	}
	for _, text := range whole {
		add(text)
	}
	mutate := newMutator(whole, "&a ", "*a", "!!binary ", "<<: ", "---\n", "? ", "- ", "|\n  ", "\x00", "worktrees:\n", "null", "ro: false\n")
	for range mutants {
		add(mutate.next())
	}
	bad := 0
	for from := 0; from < len(files); from += 25 {
		to := min(from+25, len(files))
		for i, wrong := range checkConfigs(m, files[from:to]) {
			require.True(t, !wrong || from+i >= len(whole), texts[from+i])
			if wrong {
				bad++
			}
		}
	}
	require.Greater(t, bad, mutants/20)
	require.Less(t, bad, mutants*19/20)
}

// checkConfigs says which of the files are wrong. One that is has mistakes, each with its
// place where it has one.
func checkConfigs(m *harness.Mount, files []string) (wrong []bool) {
	m.T.Helper()
	out, errs, exit := m.CLI(append([]string{"config", "check", "--json"}, files...)...)
	require.Empty(m.T, errs)
	var all struct {
		OK    bool
		Files []struct {
			File     string
			OK       bool
			Mistakes []struct {
				Line, Column int
				Message      string
			}
		}
	}
	require.NoError(m.T, json.Unmarshal([]byte(out), &all), out)
	require.Equal(m.T, map[bool]int{true: 0, false: harness.ExitUsage}[all.OK], exit)
	require.Len(m.T, all.Files, len(files))
	for i, f := range all.Files {
		require.Equal(m.T, files[i], f.File)
		require.Equal(m.T, f.OK, len(f.Mistakes) == 0, out)
		for _, one := range f.Mistakes {
			require.NotEmpty(m.T, one.Message)
			require.Equal(m.T, one.Line > 0, one.Column > 0, out)
		}
		wrong = append(wrong, !f.OK)
	}
	require.Equal(m.T, all.OK, !slices.Contains(wrong, true))
	return wrong
}
