package fence

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
	"github.com/jvsfs/jvsfs/integration/operation"
)

// readsDir holds what the read checks look at.
const readsDir = "reads"

func prepareReads(t testing.TB, tree string) {
	t.Helper()
	require.NoError(t, operation.Do(tree, "mkdir reads; mkdir reads/sub"))
	dir := filepath.Join(tree, readsDir)
	harness.WithLink("link", "file")(t, dir)
	require.NoError(t, operation.Do(dir, "setxattr file user.tag value"))
}

// readCheck is what must work whoever holds the lease: reading never waits
// and is never refused.
type readCheck struct {
	name, lines string
	want        string   // what the last of them reads, where that matters
	errnos      []string // what it may answer; nil: it succeeds
}

func readChecks() []readCheck {
	body := string(harness.Body())
	return []readCheck{
		{name: "open and read", lines: "readfile file", want: body},
		{name: "open O_CREAT of an existing file, read-only", lines: "readfile file ro,creat", want: body},
		{name: "mmap", lines: "open file ro =f; mapread f 0 10000", want: body},
		{name: "mmap private", lines: "open file ro =f; mapread f 0 10000 private", want: body},
		{name: "sendfile out", lines: "open file ro =f; memfd =out; sendfile f out 20000; pread out 0 20000", want: body},
		{name: "splice out", lines: "open file ro =f; spliceout f 4096", want: body[:4096]},
		// Between two file systems the kernel says EXDEV whoever holds what, and programs fall back to reading;
		// anything else, a refusal above all, is wrong.
		{name: "copy_file_range out", lines: "open file ro =f; memfd =out; copy f 0 out 0 20000; pread out 0 20000", want: body, errnos: []string{"", "EXDEV"}},
		{name: "readdir", lines: "readdir .", want: "file\nlink\nsub\n"},
		{name: "stat", lines: "stat file"},
		{name: "lstat", lines: "lstat link"},
		{name: "statfs", lines: "statfs ."},
		{name: "access", lines: "access file r"},
		{name: "readlink", lines: "readlink link", want: "file"},
		{name: "getxattr", lines: "getxattr file user.tag", want: "value"},
		{name: "listxattr", lines: "listxattr file"},
		{name: "lseek SEEK_DATA", lines: "open file ro =f; lseek f 0 data"},
		{name: "FS_IOC_GETFLAGS", lines: "lsattr file"},
		{name: "fsync of a read handle", lines: "open file ro =f; fsync f"},
		// Not to stay with the working directory inside a mount that is to go.
		{name: "chdir by descriptor", lines: "open sub path =d; fchdir d; chdir /"},
		{name: "a name that is not there", lines: "access none f", errnos: []string{"ENOENT"}},
	}
}

// failedReads performs every read check in a tree; it returns what went wrong.
func failedReads(t *testing.T, a *harness.Actor, tree string) (all []string) {
	t.Helper()
	dir := filepath.Join(tree, readsDir)
	for _, check := range readChecks() {
		told := play(t, a, dir, check.lines)
		play(t, a, dir, "drop")
		switch {
		case check.errnos == nil && told.Errno != "", check.errnos != nil && !slices.Contains(check.errnos, told.Errno):
			all = append(all, check.name+": "+told.Errno+" "+told.Note)
		case told.Errno == "" && check.want != "" && string(told.Data) != check.want:
			all = append(all, check.name+": other content")
		}
	}
	return all
}
