package rules

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// story is what processes of one program do to each other.
type story struct {
	name     string
	plays    func(s *scene, ruled bool) string
	natively string // what is told of it in a plain directory
	ruled    string // and where jvsfs has the program's rule
}

// program is one of those that have stories.
type program struct {
	preset     string
	rules      string                         // instead of the preset
	place      func(n int) (dir, what string) // where in the tree the story of this number plays, and with which instance
	repository bool                           // the tree is a JVS repository
	before     func(t testing.TB, dir, what string)
	holes      []story
	everyday   []story // ruled is empty: it is as natively
}

// programs are all of them.
var programs = []program{af, agency, hastyAgency, jit, entwurf, jvsLocks}

// below is a place for each story: a directory of its own.
func below(format string) func(int) (string, string) {
	return func(n int) (string, string) { return fmt.Sprintf(format, n), "" }
}

// within is an instance for each story, all of them below the root.
func within(format string) func(int) (string, string) {
	return func(n int) (string, string) { return "", fmt.Sprintf(format, n) }
}

// enforced are the presets that jvsfs has.
var enforced = []string{"af", "agency", hastyAgency.preset, "jit", "entwurf", "jvs-locks"}

// The holes are there in a plain directory, or the stories would prove nothing.
func TestRacesGoWrongInAPlainDirectory(t *testing.T) {
	for _, p := range programs {
		t.Run(p.preset, func(t *testing.T) {
			p.tell(p.natively(t), t, func(t *testing.T, s *scene, told story) {
				require.Equal(t, told.natively, told.plays(s, false))
			})
		})
	}
}

// With its rule the program is as safe as its locks mean it to be, and its everyday work is what it was.
func TestRacesDoNotGoWrongUnderTheirRule(t *testing.T) {
	for _, p := range programs {
		if slices.Contains(enforced, p.preset) {
			t.Run(p.preset, func(t *testing.T) {
				p.tell(p.mounted(t), t, func(t *testing.T, s *scene, told story) {
					require.Equal(t, cmp.Or(told.ruled, told.natively), told.plays(s, true))
				})
			})
		}
	}
}

func (p program) stories() []story { return slices.Concat(p.holes, p.everyday) }

// tell tells each story in a place of its own, which is in the same directory or mount as those of the others.
func (p program) tell(s scene, t *testing.T, play func(*testing.T, *scene, story)) {
	for n, told := range p.stories() {
		t.Run(told.name, func(t *testing.T) {
			own := s
			own.t = t
			own.base = t.TempDir()
			own.dir, own.what = p.place(n)
			play(t, &own, told)
		})
	}
}

func (p program) natively(t *testing.T) scene {
	root := filepath.Join(harness.NewBase(t), "plain")
	require.NoError(t, os.Mkdir(root, 0o755))
	if p.repository {
		harness.PrepareRepository(t, root)
	}
	p.prepare(t, root)
	return scene{root: root, back: root}
}

func (p program) mounted(t *testing.T) scene {
	o := harness.MountOptions{InPlace: true, Repository: p.repository, Extra: []string{"--mode", "shared", "--rules", p.preset}}
	m := harness.PrepareMount(t, o)
	if p.rules != "" {
		own := filepath.Join(t.TempDir(), "rules.yaml")
		require.NoError(t, os.WriteFile(own, []byte(p.rules), 0o644))
		m.Opts.Extra[3] = own
	}
	p.prepare(t, m.Source)
	m.Mount()
	return scene{root: m.Mountpoint, back: m.View}
}

func (p program) prepare(t *testing.T, root string) {
	for n := range len(p.stories()) + 1 { // and one for the race
		dir, what := p.place(n)
		dir = filepath.Join(root, dir)
		require.NoError(t, os.MkdirAll(dir, 0o755))
		if p.before != nil {
			p.before(t, dir, what)
		}
	}
}
