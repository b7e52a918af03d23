package service

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// docs has what the packager installs beside the binary: man, completions, examples.
// It is written once a run, by a binary with the writer in it: that of JVSFS_DOCS_BINARY, else it is built.
var docs = sync.OnceValues(func() (string, error) {
	bin, dir := os.Getenv("JVSFS_DOCS_BINARY"), filepath.Join(harness.Scratch, "docs")
	if bin == "" {
		bin = filepath.Join(harness.Scratch, "bin", "jvsfs-docs")
		if err := harness.BuildBinary(bin, "-tags", "jvsfs_docs"); err != nil {
			return "", err
		}
	}
	if text, err := exec.Command(bin, "docs", dir).CombinedOutput(); err != nil {
		return "", fmt.Errorf("jvsfs docs: %w\n%s", err, text)
	}
	return dir, nil
})

func requireDocs(t testing.TB) string {
	t.Helper()
	dir, err := docs()
	require.NoError(t, err)
	return dir
}

// groff says what man would pass over, and shows what a reader sees.
func groff(t testing.TB, page string) string {
	t.Helper()
	cmd := exec.Command("groff", "-t", "-man", "-K", "utf8", "-T", "utf8", "-ww", "-P-c", "-rLL=100n", page)
	var warnings strings.Builder
	cmd.Stderr = &warnings
	text, err := cmd.Output()
	require.NoError(t, err, warnings.String())
	require.Empty(t, warnings.String(), page)
	return overstrike.ReplaceAllString(string(text), "")
}

// overstrike is how a terminal of old prints bold and underlined.
var overstrike = regexp.MustCompile(".\b")

// flagOf finds the flags of a help text.
var flagOf = regexp.MustCompile(`(?m)^ +(?:-\w, )?(--[\w-]+)`)

// helpOf asks the program itself for its commands below path, and their flags.
func helpOf(t testing.TB, bin string, path ...string) (commands, flags []string) {
	t.Helper()
	out, err := exec.Command(bin, append(path, "--help")...).Output()
	require.NoError(t, err)
	list := false
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "Available Commands:") {
			list = true
		} else if words := strings.Fields(line); list && len(words) > 1 {
			commands = append(commands, words[0])
		} else {
			list = false
		}
	}
	for _, m := range flagOf.FindAllStringSubmatch(string(out), -1) {
		flags = append(flags, m[1])
	}
	return commands, flags
}

func TestEveryCommandHasItsPage(t *testing.T) {
	bin, man := harness.RequireBinary(t), filepath.Join(requireDocs(t), "man")
	var walk func(path ...string)
	walk = func(path ...string) {
		commands, flags := helpOf(t, bin, path...)
		name := strings.Join(append([]string{"jvsfs"}, path...), "-")
		text := groff(t, commandPage(t, man, name))
		require.Contains(t, text, "EXIT STATUS")
		for _, flag := range flags {
			require.Contains(t, strings.ReplaceAll(text, "\u2010", "-"), flag, name)
		}
		for _, c := range commands {
			if c != "help" {
				walk(append(path, c)...)
			}
		}
	}
	walk()
}

// commandPage is the one page of a command, in whatever section.
func commandPage(t testing.TB, man, name string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(man, name+".[18]"))
	require.NoError(t, err)
	require.Len(t, found, 1, name)
	return found[0]
}

// The commands for people who work in a mount are in section 1, those for people who run one in section 8. Each
// page that a page names exists.
func TestEveryManualPageIsInItsSection(t *testing.T) {
	man := filepath.Join(requireDocs(t), "man")
	for _, page := range []string{"jvsfs.1", "jvsfs-lock-acquire.1", "jvsfs-exec.1", "jvsfs-explain.1", "jvsfs-status.1", "jvsfs-top.1",
		"jvsfs-mount.8", "jvsfs-umount.8", "jvsfs-recover.8", "jvsfs-enforce.8", "jvsfs-doctor.8",
		"jvsfs-guarantees.7", "jvsfs-lease.7", "jvsfs-hosts.7", "jvsfs-layouts.7", "jvsfs-rules.7", "jvsfs-operations.7", "jvsfs-agents.7", "jvsfs-json.7", "jvsfs-performance.7", "jvsfs-testing.7", "jvsfs-fence.7", "jvsfs-fence-check.8"} {
		require.FileExists(t, filepath.Join(man, page))
	}
	pages, err := filepath.Glob(filepath.Join(man, "*"))
	require.NoError(t, err)
	for _, page := range pages {
		text := strings.NewReplacer("\u2010\n", "\u2010", "\u2010", "-").Replace(groff(t, page)) // hyphens of broken names
		named := regexp.MustCompile(`\b((?:mount\.fuse\.)?jvsfs[a-z.-]*)\((\d)\)`).FindAllStringSubmatch(text, -1)
		require.NotEmpty(t, named, page)
		for _, m := range named {
			require.FileExists(t, filepath.Join(man, m[1]+"."+m[2]), page)
		}
	}
}

// The page of the configuration has all its keys, and the page of mount(8)'s helper has all options.
func TestPagesOfConfigurationAndHelperAreComplete(t *testing.T) {
	dir := requireDocs(t)
	example, err := os.ReadFile(filepath.Join(dir, "examples", "jvsfs.yaml"))
	require.NoError(t, err)
	file := groff(t, filepath.Join(dir, "man", "jvsfs.yaml.5"))
	options := groff(t, filepath.Join(dir, "man", "mount.fuse.jvsfs.8"))
	keys := regexp.MustCompile(`(?m)^(?:# ?)?(\w+):`).FindAllStringSubmatch(string(example), -1)
	require.Greater(t, len(keys), 10)
	for _, m := range keys {
		require.Contains(t, file, m[1]+": ")
		switch m[1] {
		case "source", "mountpoint", "worktrees": // arguments, and what only a file can say
		default:
			require.Contains(t, options, m[1]+"=")
		}
	}
	require.Contains(t, options, "config=FILE")
}

// The example is a configuration, and so are the defaults that it leaves commented out.
func TestExampleConfigurationMounts(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(requireDocs(t), "examples", "jvsfs.yaml"))
	require.NoError(t, err)
	file := filepath.Join(harness.NewBase(t), "all.yaml")
	m := harness.PrepareMount(t, harness.MountOptions{Extra: []string{"--config", file}})
	all := regexp.MustCompile(`(?m)^#(\w+:|  \w+:)`).ReplaceAllString(string(text), "$1")
	require.NotEqual(t, string(text), all)
	require.NoError(t, os.WriteFile(file, []byte(all), 0o644))
	m.Mount()
}

// The scripts of the package work in a shell that knows nothing but them.
func TestBashCompletes(t *testing.T) {
	script := filepath.Join(requireDocs(t), "completions", "jvsfs.bash")
	m := harness.NewMount(t, harness.MountOptions{})
	for line, want := range map[string]string{
		"jvsfs umo":                        "umount",
		"jvsfs lock rel":                   "release",
		"jvsfs umount " + m.Mountpoint[:5]: m.Mountpoint,
		"jvsfs lock renew " + m.Mountpoint: m.Mountpoint,
		"jvsfs mount --on-free d":          "deny",
		"jvsfs status --js":                "--json",
	} {
		got := bashCompletes(t, script, m.Bin, line)
		require.Contains(t, got, want, line)
	}
}

// TAB waits for no daemon: not for one that is stopped, nor in a mount whose daemon is.
func TestCompletionDoesNotWaitForDaemons(t *testing.T) {
	script := filepath.Join(requireDocs(t), "completions", "jvsfs.bash")
	m := harness.NewMount(t, harness.MountOptions{})
	for _, pid := range m.Daemons() {
		require.NoError(t, unix.Kill(pid, unix.SIGSTOP))
		defer func() { require.NoError(t, unix.Kill(pid, unix.SIGCONT)) }()
	}
	for _, command := range []string{"umount", "lock renew", "exec"} {
		require.Contains(t, bashCompletes(t, script, m.Bin, "jvsfs "+command+" "+m.Mountpoint[:5]), m.Mountpoint)
	}
}

// bashCompletes presses TAB at the end of line.
func bashCompletes(t testing.TB, script, bin, line string) []string {
	t.Helper()
	const press = `set -e
. /usr/share/bash-completion/bash_completion
. "$1"
COMP_LINE=$2 COMP_POINT=${#2} COMP_TYPE=9 COMP_WORDS=($2) COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
__start_jvsfs || true
printf '%s\n' "${COMPREPLY[@]}"`
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", press, "bash", script, line)
	cmd.WaitDelay = harness.Patience // what it has started may hang in the mount
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(bin)+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return strings.Fields(string(out))
}
