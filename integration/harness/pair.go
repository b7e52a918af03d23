package harness

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The users of the credential tests. 2000 is a group that the user is in, but
// not with: it travels in no FUSE header. 3000 is a group of strangers.
var (
	User  = Identity{UID: 1000, GID: 1000, Groups: []uint32{1000, 2000}}
	Other = Identity{UID: 1001, GID: 1001, Groups: []uint32{1001}}
)

// Pair is a mount (front, and the backing tree behind it) and a plain
// directory of the same content; what a user does is done in both and
// compared.
type Pair struct{ Front, Behind, Plain string }

// Answers performs commands and lists what they said.
func Answers(t *testing.T, a *Actor, commands []Command) []string {
	t.Helper()
	var errnos []string
	for _, c := range commands {
		r, err := a.Try(c)
		require.NoError(t, err)
		errnos = append(errnos, r.Errno)
	}
	return errnos
}

// TwoPlain is a pair with a plain directory in the place of the mount.
func TwoPlain(t *testing.T, prepare func(testing.TB, string)) (p Pair, plainView string) {
	t.Helper()
	base := NewBase(t)
	trees := []string{filepath.Join(base, "plain"), filepath.Join(base, "front")}
	for _, tree := range trees {
		require.NoError(t, os.Mkdir(tree, 0o755))
		prepare(t, tree)
	}
	behind := BindView(t, trees[1], filepath.Join(base, "behind"), 0)
	plainView = BindView(t, trees[0], filepath.Join(base, "plainview"), 0)
	return Pair{Front: trees[1], Behind: behind, Plain: trees[0]}, plainView
}
