package fidelity

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// changes are what clears, or does not clear, setuid and setgid. Each is done
// to a file of its own.
func changes(file string) map[string][]harness.Command {
	open := func(flags int) harness.Command {
		return harness.Command{Op: "open", Handle: "f", Path: file, Flags: flags}
	}
	shut := harness.Command{Op: "close", Handle: "f"}
	return map[string][]harness.Command{
		"write":         {open(unix.O_WRONLY), {Op: "write", Handle: "f", Data: []byte("x")}, shut},
		"pwrite":        {open(unix.O_RDWR), {Op: "pwrite", Handle: "f", Data: []byte("x"), Off: 50}, shut},
		"append":        {open(unix.O_WRONLY | unix.O_APPEND), {Op: "write", Handle: "f", Data: []byte("x")}, shut},
		"truncate":      {{Op: "truncate", Path: file, Len: 3}},
		"ftruncate":     {open(unix.O_WRONLY), {Op: "ftruncate", Handle: "f", Len: 3}, shut},
		"open-truncate": {open(unix.O_WRONLY | unix.O_TRUNC), shut},
		"fallocate":     {open(unix.O_WRONLY), {Op: "fallocate", Handle: "f", Len: 20000}, shut},
		"open-only":     {open(unix.O_WRONLY), shut},
		"chgrp":         {{Op: "chown", Path: file, UID: -1, GID: 2000}},
		"chown-nothing": {{Op: "chown", Path: file, UID: -1, GID: -1}},
		"chown-away":    {{Op: "chown", Path: file, UID: 1001, GID: -1}},
		"chmod":         {{Op: "chmod", Path: file, Mode: 0o6755}},
		"store": {open(unix.O_RDWR), {Op: "mmap", Handle: "f", Name: "m", Len: 4096},
			{Op: "store", Name: "m", Data: []byte("x")}, {Op: "msync", Name: "m"}, {Op: "munmap", Name: "m"}, shut},
	}
}

// setidKinds are the owners and modes whose bits are at stake.
var setidKinds = map[string]struct {
	uid, gid int
	mode     uint32
}{
	"root-6777":         {0, 0, 0o6777},
	"users-6777":        {1000, 1000, 0o6777},
	"users-2000-6777":   {1000, 2000, 0o6777},
	"lock-style-2766":   {0, 0, 0o2766},
	"others-4777":       {1001, 1001, 0o4777},
	"group-2777":        {0, 2000, 0o2777},
	"strangers-2777":    {1000, 3000, 0o2777},
	"plain-0666":        {0, 0, 0o666},
	"forbidden-6700":    {0, 0, 0o6700},
	"by-group-only-660": {0, 2000, 0o660},
}

func prepareSetid(t testing.TB, tree string) {
	for who := range credentialUsers() {
		for kind, k := range setidKinds {
			for change := range changes("") {
				dir := filepath.Join(tree, who, kind, change)
				harness.Must(t, os.MkdirAll(dir, 0o755))
				file := filepath.Join(dir, "f")
				harness.Must(t, os.WriteFile(file, harness.Body(), 0o600))
				harness.Must(t, os.Chown(file, k.uid, k.gid))
				harness.Must(t, unix.Chmod(file, k.mode))
			}
		}
	}
}

func credentialUsers() map[string]harness.Identity {
	return map[string]harness.Identity{"root": {}, "user": harness.User, "other": harness.Other}
}

// TestAWriteClearsSetuidAsNatively: a write, truncation, allocation or change of owner
// clears setuid and setgid exactly when the plain file system does, and who
// may not do it natively may not do it here, with the same errno.
func TestAWriteClearsSetuidAsNatively(t *testing.T) {
	privileges(newPair(t, prepareSetid), t)
}

func privileges(p *harness.Pair, t *testing.T) {
	for who, id := range credentialUsers() {
		a := harness.StartActorAs(t, who, id)
		for kind := range setidKinds {
			for change := range changes("") {
				dir := filepath.Join(who, kind, change)
				t.Run(dir, func(t *testing.T) {
					same(p, t, a, dir, func(root string) []harness.Command { return changes(filepath.Join(root, "f"))[change] })
				})
			}
		}
	}
}

func prepareOthers(t testing.TB, tree string) {
	for _, kind := range []string{"open", "sticky", "closed"} {
		dir := filepath.Join(tree, kind)
		harness.Must(t, os.Mkdir(dir, 0o755))
		harness.PrepareAll(harness.WithLink("link", "f"), harness.WithFiles("g", "secret"), harness.WithDir("d"))(t, dir)
		for _, name := range []string{"f", "g", "secret", "d"} {
			harness.Must(t, os.Chown(filepath.Join(dir, name), 1001, 1001))
		}
		harness.Must(t, os.Chmod(filepath.Join(dir, "secret"), 0o600))
		harness.Must(t, unix.Chmod(dir, map[string]uint32{"open": 0o777, "sticky": 0o1777, "closed": 0o755}[kind]))
	}
}

// TestPermissionsAreNative: what belongs to somebody else stays out of reach,
// with the errno that the plain file system gives.
func TestPermissionsAreNative(t *testing.T) {
	p := newPair(t, prepareOthers)
	a := harness.StartActorAs(t, "user", harness.User)
	for _, dir := range []string{"open", "sticky", "closed"} {
		t.Run(dir, func(t *testing.T) { same(p, t, a, dir, trespass) })
	}
}

func trespass(root string) []harness.Command {
	at := func(name string) string { return filepath.Join(root, name) }
	return []harness.Command{
		{Op: "readfile", Path: at("secret")},
		{Op: "writefile", Path: at("secret"), Data: []byte("x")},
		{Op: "writefile", Path: at("f"), Data: []byte("x")},
		{Op: "open", Handle: "f", Path: at("f"), Flags: unix.O_RDONLY | unix.O_TRUNC},
		{Op: "truncate", Path: at("f"), Len: 1},
		{Op: "chmod", Path: at("f"), Mode: 0o777},
		{Op: "chown", Path: at("f"), UID: 1000, GID: -1},
		{Op: "chown", Path: at("f"), UID: -1, GID: 1000},
		{Op: "utimens", Path: at("f")},
		{Op: "setxattr", Path: at("f"), Name: "user.mine", Data: []byte("x")},
		{Op: "setxattr", Path: at("f"), Name: "trusted.mine", Data: []byte("x")},
		{Op: "setxattr", Path: at("f"), Name: harness.ACLAccess, Data: harness.UserACL(1000)},
		{Op: "setxattr", Path: at("d"), Name: harness.ACLDefault, Data: harness.UserACL(1000)},
		{Op: "link", Path: at("f"), To: at("hard")},
		{Op: "mkdir", Path: at("d/below"), Mode: 0o755},
		{Op: "rename", Path: at("f"), To: at("moved")},
		{Op: "rename", Path: at("g"), To: at("d/g")},
		{Op: "unlink", Path: at("g")},
		{Op: "rmdir", Path: at("d")},
		{Op: "mkdir", Path: at("new"), Mode: 0o755},
	}
}
