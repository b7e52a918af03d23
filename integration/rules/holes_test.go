package rules

import (
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
	dir        string // where in the tree it is
	repository bool   // the tree is a JVS repository
	before     func(t testing.TB, dir string)
	holes      []story
	everyday   []story // ruled is empty: it is as natively
}

// programs are all of them.
var programs = []program{af, agency, jit, entwurf, jvsLocks}

// enforced are the presets that jvsfs has.
var enforced = []string{}

// The holes are there in a plain directory, or the stories would prove nothing.
func TestHolesOfPlainDirectories(t *testing.T) {
	everyStory(t, func(t *testing.T, p program, told story) {
		require.Equal(t, told.natively, told.plays(p.natively(t), false))
	})
}

// With its rule the program is as safe as its locks mean it to be, and its everyday work is what it was.
func TestHolesAreClosed(t *testing.T) {
	everyStory(t, func(t *testing.T, p program, told story) {
		if !slices.Contains(enforced, p.preset) {
			return
		}
		want := told.ruled
		if want == "" {
			want = told.natively
		}
		require.Equal(t, want, told.plays(p.mounted(t), true))
	})
}

func everyStory(t *testing.T, play func(*testing.T, program, story)) {
	for _, p := range programs {
		for _, told := range slices.Concat(p.holes, p.everyday) {
			t.Run(p.preset+"/"+told.name, func(t *testing.T) { play(t, p, told) })
		}
	}
}

func (p program) natively(t *testing.T) *scene {
	base := harness.NewBase(t)
	root := filepath.Join(base, "plain")
	require.NoError(t, os.Mkdir(root, 0o755))
	if p.repository {
		harness.PrepareRepository(t, root)
	}
	p.prepare(t, root)
	return &scene{t: t, root: root, back: root, base: base, dir: p.dir}
}

func (p program) mounted(t *testing.T) *scene {
	o := harness.MountOptions{InPlace: true, Repository: p.repository, Extra: []string{"--mode", "shared", "--rules", p.preset}}
	m := harness.PrepareMount(t, o)
	p.prepare(t, m.Source)
	m.Mount()
	return &scene{t: t, root: m.Mountpoint, back: m.View, base: m.Base, dir: p.dir}
}

func (p program) prepare(t *testing.T, root string) {
	dir := filepath.Join(root, p.dir)
	require.NoError(t, os.MkdirAll(dir, 0o755))
	if p.before != nil {
		p.before(t, dir)
	}
}
