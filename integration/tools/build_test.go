package tools

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// writeFiles makes files below dir by their relative names.
func writeFiles(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
}

func prepareGoModule(t testing.TB, dir string) {
	writeFiles(t, dir, map[string]string{
		"go.mod":       "module example.org/m\n\ngo 1.21\n",
		"main.go":      "package main\n\nimport \"example.org/m/word\"\n\nfunc main() { println(word.Word) }\n",
		"word/word.go": "package word\n\nconst Word = \"built\"\n",
	})
}

func TestToolGoBuildWorksAsNatively(t *testing.T) {
	b := newBench(t, prepareGoModule)
	b.same(
		[]string{"go", "vet", "./..."},
		[]string{"go", "build", "-trimpath", "-o", "m", "."},
		[]string{"gofmt", "-w", "-r", "Word -> Word", "."},
		[]string{"./m"},
	)
	b.sameTrees(nil, harness.LeaveTimes)
	require.Equal(t, "built\n", b.stranger.Run("./m").Errs)
}

// The build cache inside the mount. Its entries hold times, so the trees are
// not compared; that a second build is served from it is what counts.
func TestToolGoBuildCacheWorksInTheMount(t *testing.T) {
	b := newBench(t, prepareGoModule)
	w := b.holder
	w.Env = append(append([]string{}, w.Env...), "GOCACHE="+b.m.At("cache"))
	w.OK("go", "build", "-o", "m", "./word")
	again := w.Run("go", "build", "-x", "-o", "m", "./word")
	require.Zero(t, again.Exit, again.Errs)
	require.NotContains(t, again.Errs, "/compile ", "the second build compiles nothing")
	inside, err := filepath.Glob(b.m.Behind("cache", "*", "*-a"))
	require.NoError(t, err)
	require.NotEmpty(t, inside)
}

func TestToolGoBuildIsRefusedWhileAnotherHolds(t *testing.T) {
	b := newBench(t, prepareGoModule)
	b.whileHeld(func(s harness.Workshop) {
		s.OK("go", "vet", "./...")
		s.OK("go", "build", "-o", b.plain+"/m", ".")
		s.Fails(1, "read-only file system", "go", "build", "-o", "m", ".")
		s.Fails(2, "read-only file system", "gofmt", "-w", "-r", "Word -> Ward", ".")
		s.Fails(1, "read-only file system", "go", "mod", "edit", "-go=1.22")
		s.Env = append(append([]string{}, s.Env...), "GOCACHE="+s.Dir+"/cache")
		s.Fails(1, "read-only file system", "go", "build", "-o", b.plain+"/m", ".")
	})
}

func prepareC(t testing.TB, dir string) {
	writeFiles(t, dir, map[string]string{
		"a.c":      "#include <stdio.h>\nextern const char *word(void);\nint main(void) { puts(word()); return 0; }\n",
		"b.c":      "const char *word(void) { return \"made\"; }\n",
		"Makefile": "prog: a.o b.o\n\tgcc -o $@ $^\n%.o: %.c\n\tgcc -c -o $@ $<\nclean:\n\trm -f prog *.o\n",
	})
}

func TestToolMakeWorksAsNatively(t *testing.T) {
	b := newBench(t, prepareC)
	b.same([]string{"make", "-j2"}, []string{"make", "-q"}, []string{"./prog"})
	b.sameTrees(nil, harness.LeaveTimes)
	require.Equal(t, "made\n", b.stranger.OK("./prog"))
	b.same([]string{"touch", "b.c"}, []string{"make"}, []string{"make", "clean"})
	b.sameTrees(nil, harness.LeaveTimes)
}

func TestToolMakeIsRefusedWhileAnotherHolds(t *testing.T) {
	b := newBench(t, prepareC)
	b.holder.OK("make")
	b.whileHeld(func(s harness.Workshop) {
		s.OK("make", "-q")
		s.Fails(2, "Read-only file system", "make", "-B", "a.o")
		s.Fails(2, "Read-only file system", "make", "-B")
		s.Fails(2, "Read-only file system", "make", "clean")
		s.Fails(1, "Read-only file system", "touch", "b.c")
	})
}
