package integration

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The comparisons, with a second plain directory in the place of the mount:
// they must find nothing, or they would blame the mount for their own noise.

func twoPlain(t *testing.T, prepare func(testing.TB, string)) (p pair, plainView string) {
	t.Helper()
	requireRoot(t)
	base := newBase(t)
	trees := []string{filepath.Join(base, "plain"), filepath.Join(base, "front")}
	for _, tree := range trees {
		require.NoError(t, os.Mkdir(tree, 0o755))
		prepare(t, tree)
	}
	behind := bindView(t, trees[1], filepath.Join(base, "behind"), 0)
	plainView = bindView(t, trees[0], filepath.Join(base, "plainview"), 0)
	return pair{front: trees[1], behind: behind, plain: trees[0]}, plainView
}

func TestNativePairOfRows(t *testing.T) {
	p, view := twoPlain(t, prepareStage)
	sameRows(t, startActor(t, "one"), startActor(t, "two"), p, view)
}

func TestNativePairOfNewFiles(t *testing.T) {
	p, _ := twoPlain(t, prepareMakers)
	p.newFiles(t)
}

func TestNativePairOfPrivileges(t *testing.T) {
	p, _ := twoPlain(t, prepareSetid)
	p.privileges(t)
	// And they compare something: natively the bits do go, and do stay.
	for dir, mode := range map[string]uint32{"user/root-6777/write": 0o777, "user/root-6777/open-only": 0o6777,
		"user/users-6777/chgrp": 0o777, "user/others-4777/truncate": 0o777, "root/root-6777/write": 0o6777} {
		e, err := readEntry(filepath.Join(p.plain, dir, "f"))
		require.NoError(t, err)
		require.Equal(t, mode, e.mode&0o7777, dir)
	}
}

func TestNativePairOfPermissions(t *testing.T) {
	p, _ := twoPlain(t, prepareOthers)
	a := startActorAs(t, "user", user)
	p.same(t, a, "sticky", trespass)
	require.Equal(t, "EACCES", a.do(command{Op: "readfile", Path: filepath.Join(p.front, "closed", "secret")}).Errno)
}
