package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/jvsfs/jvsfs/lease"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
)

// What says what root runs next is believed only from where nobody else can write.
func TestStateIsRootsAlone(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	var back mountState
	write := func(t *testing.T) string {
		dir := t.TempDir()
		require.NoError(t, os.Chmod(dir, 0o755))
		path := filepath.Join(dir, "dev-0-1.state")
		require.NoError(t, writeState(path, mountState{Mountpoint: "/mnt"}))
		return path
	}
	require.NoError(t, readState(write(t), &back))
	require.Equal(t, "/mnt", back.Mountpoint)
	for name, spoil := range map[string]func(string) error{
		"readable by others":     func(p string) error { return os.Chmod(p, 0o644) },
		"of another user":        func(p string) error { return os.Chown(p, 1000, 0) },
		"a directory for all":    func(p string) error { return os.Chmod(filepath.Dir(p), 0o777) },
		"another's directory":    func(p string) error { return os.Chown(filepath.Dir(p), 1000, 0) },
		"torn":                   func(p string) error { return os.Truncate(p, 20) },
		"gone":                   os.Remove,
		"a link to another file": func(p string) error { return os.Symlink(p, p+".x") },
	} {
		path := write(t)
		require.NoError(t, spoil(path), name)
		if name == "a link to another file" {
			path += ".x"
		}
		require.Error(t, readState(path, &back), name)
	}
	left, err := os.ReadDir(filepath.Dir(write(t)))
	require.NoError(t, err)
	require.Len(t, left, 1, "no temporary file stays")
}

func TestProcessOfAnotherBootHasEnded(t *testing.T) {
	p, err := thisProcess()
	require.NoError(t, err)
	require.Equal(t, lease.Alive, p.liveness())
	require.True(t, p.sameClock())
	other := p
	other.BootID = "another"
	require.Equal(t, lease.Gone, other.liveness())
	require.False(t, other.sameClock())
	other = p
	other.Start++
	require.Equal(t, lease.Gone, other.liveness(), "the number was given to another process")
	other = p
	other.TimeNamespace = "time:[1]"
	require.False(t, other.sameClock())
}

func TestParseDevice(t *testing.T) {
	d, err := parseDevice("0:51")
	require.NoError(t, err)
	require.Equal(t, device{0, 51}, d)
	for _, bad := range []string{"", "0", "0:51x", "0:-1", "../0:5", "0: 5"} {
		_, err := parseDevice(bad)
		require.Error(t, err, bad)
	}
}

// fenceLog is a fence that does nothing.
type fenceLog struct{ lease.Fence }

func (fenceLog) Open(lease.Grant) {}
func (fenceLog) Close(lease.Loss) {}

func TestJournalKnowsWhoHoldsAndWhoIsOut(t *testing.T) {
	j := newJournal(zap.NewNop())
	f := journaledFence{fenceLog{}, j, "main"}
	h := lease.Holder{PID: 7, StartTime: 8, Scope: "tree"}
	f.Open(lease.Grant{Token: 3, Holder: h, Record: lease.Record{HolderNonce: "n", SessionID: "s"}, Deadline: 9})
	b := j.entries().Held["main"]
	require.EqualValues(t, 3, b.Token)
	require.Equal(t, "n", b.Nonce)
	f.Close(lease.Loss{Kind: lease.LossExpired, Token: 3, Holder: h})
	require.Empty(t, j.entries().Held)
	require.Len(t, j.entries().Revoked["main"], 1)
	j.admit("main", lease.Holder{PID: 9})
	require.Len(t, j.entries().Revoked["main"], 1, "another one acquired")
	j.admit("main", h)
	require.Empty(t, j.entries().Revoked["main"])
	f.Close(lease.Loss{Kind: lease.LossReleased, Token: 3, Holder: h})
	require.Empty(t, j.entries().Revoked["main"], "who gave it back in peace is not out")
}

// While a mount is being unmounted its name in the directory may become another mount's.
func TestJournalPauses(t *testing.T) {
	j := newJournal(zap.NewNop())
	path := filepath.Join(t.TempDir(), "dev-0-1.leases")
	j.path = path
	hold := func(token lease.Token) {
		j.change(func(f *journalFile) { f.Held["main"] = lease.Bequest{Token: token} })
	}
	hold(1)
	goOn := j.pause()
	require.NoError(t, os.WriteFile(path, []byte("another's"), 0o600))
	hold(2)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "another's", string(text))
	goOn()
	text, err = os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(text), `"Token":2`, "nothing is forgotten if it stays mounted")
}

// Of what several daemons have left of one worktree the latest counts.
func TestJournalInheritsTheLatest(t *testing.T) {
	j := newJournal(zap.NewNop())
	j.inherit(journalFile{Held: map[lease.WorktreeID]lease.Bequest{"main": {Token: 2, Boot: 20}}})
	j.inherit(journalFile{Held: map[lease.WorktreeID]lease.Bequest{"main": {Token: 1, Boot: 10}}})
	require.EqualValues(t, 2, j.entries().Held["main"].Token)
}

func TestStackAt(t *testing.T) {
	table := mountTable{
		{ID: 1, Mountpoint: "/"},
		{ID: 2, Parent: 1, Mountpoint: "/srv", FSType: "ext4"},
		{ID: 3, Parent: 2, Mountpoint: "/srv", FSType: fsType},
		{ID: 4, Parent: 3, Mountpoint: "/srv", FSType: fsType},
		{ID: 5, Parent: 4, Mountpoint: "/srv/in", FSType: "tmpfs"},
	}
	stack := table.stackAt("/srv")
	require.Len(t, stack, 2)
	require.Equal(t, 4, stack[0].ID)
	require.Empty(t, table.stackAt("/srv/in"))
	require.Empty(t, table.stackAt("/"))
	r := recovery{point: "/srv", dead: stack}
	require.ErrorContains(t, r.unencumbered(table), "/srv/in")
	require.NoError(t, r.unencumbered(table[:4]))
}
