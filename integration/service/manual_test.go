package service

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// notRunHere says, for a mark behind ```sh, who runs such a block instead.
var notRunHere = map[string]string{
	"needs-apt":      "scripts/container/package.sh builds the package, and installs it in a container",
	"runs-as-user":   "TestAUserRunsTheManual",
	"needs-systemd":  "scripts/container/unit-story.sh lives with the unit",
	"needs-docker":   "scripts/container-test.sh itself, and its parts",
	"takes-minutes":  "scripts/test.sh runs each of them",
	"takes-hours":    "the release run",
	"needs-a-store":  "TestFenceCheckTellsAnAgentThatCutsOffFromOneThatOnlySaysSo",
	"runs-this-test": "scripts/test.sh",
}

// manualPage is a text with commands in it. Its blocks are run in their order on one machine.
type manualPage struct {
	path   string
	before string // what the page takes for granted
	after  string // what must be so when all of it was run
}

var manual = []manualPage{
	{path: "README.md", after: `
[[ $(</srv/repo/main/README) == $'a README\nsaved' ]]
[[ -e /srv/repo/main/out/app ]]
[[ $(ls -d /srv/team/by-agent* | wc -l) == 5 ]]`},
	{path: "cmd/jvsfs/pages/jvsfs-guarantees.7.md"},
	{path: "cmd/jvsfs/pages/jvsfs-lease.7.md", before: `jvsfs mount --log-file /srv/log /srv/repo`, after: `
[[ -e /srv/repo/main/built ]]
jvsfs umount /srv/repo`},
	{path: "cmd/jvsfs/pages/jvsfs-hosts.7.md"},
	{path: "cmd/jvsfs/pages/jvsfs-layouts.7.md", after: `[[ -e /srv/repo/worktrees/one/file ]]`},
	{path: "cmd/jvsfs/pages/jvsfs-rules.7.md"},
	{path: "cmd/jvsfs/pages/jvsfs-operations.7.md", after: `[[ $(findmnt -rn -t fuse.jvsfs) == "" ]]`},
	{path: "cmd/jvsfs/pages/jvsfs-agents.7.md", after: `jvsfs umount /srv/repo`},
	{path: "cmd/jvsfs/pages/jvsfs-json.7.md"},
	{path: "cmd/jvsfs/pages/jvsfs-performance.7.md"},
	{path: "cmd/jvsfs/pages/jvsfs-testing.7.md"},
	{path: "cmd/jvsfs/pages/jvsfs-fence.7.md"},
}

// machine makes directories of the test's own the machine's, in namespaces that end with it.
const machine = `set -euo pipefail
for dir in /srv /run /var/lib /var/log; do
  mkdir -p "$MACHINE$dir"
  mount --bind "$MACHINE$dir" "$dir"
done
mount --bind "$CHECKOUT" "$CHECKOUT"
mount -o remount,bind,ro "$CHECKOUT"
export HOME=/srv/home
mkdir -p /srv/home /srv/repo/.jvs /srv/repo/main/out /srv/repo/worktrees
git config --global user.name somebody
git config --global user.email somebody@localhost
git config --global advice.detachedHead false
printf 'all:\n\t@cp README out/app\n' >/srv/repo/main/Makefile
echo 'a README' >/srv/repo/main/README
git init -q -b main /srv/seed
cp /srv/repo/main/README /srv/seed
git -C /srv/seed add .
git -C /srv/seed commit -q -m first
git clone -q --bare /srv/seed /srv/project.git
cd "$CHECKOUT"
`

// agent is what an agent does, in the directory that it is given.
const agent = `#!/bin/bash
set -e
cd "$1"
touch "by-${1##*/}"
git add .
git commit -q -m "work of ${1##*/}"
`

// fenced finds the blocks of a page: language, marks, text.
var fenced = regexp.MustCompile("(?ms)^```(\\w+)([^\n]*)\n(.*?)^```$")

// Every command of the pages is run as it is printed, in namespaces of its own, and must answer what the pages
// print.
func TestManualRunsAsPrinted(t *testing.T) {
	for _, page := range manual {
		t.Run(filepath.Base(page.path), func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("..", "..", page.path))
			require.NoError(t, err)
			script, n := pageScript(t, page.path, string(text))
			if n > 0 {
				runOnMachine(t, page.before+"\n"+script+page.after+"\n")
			}
		})
	}
}

// Each page of the manual has its place in that test.
func TestEveryManualPageIsRunByATest(t *testing.T) {
	pages, err := filepath.Glob("../../cmd/jvsfs/pages/*.7.md")
	require.NoError(t, err)
	for _, page := range pages {
		require.True(t, slices.ContainsFunc(manual, func(p manualPage) bool { return filepath.Join("..", "..", p.path) == page }), page)
	}
}

// pageScript runs each block in a shell of its own, as its reader would.
func pageScript(t *testing.T, path, page string) (script string, blocks int) {
	t.Helper()
	var out strings.Builder
	for _, m := range fenced.FindAllStringSubmatch(page, -1) {
		language, mark, text := m[1], strings.TrimSpace(m[2]), m[3]
		switch {
		case mark != "":
			require.Contains(t, notRunHere, mark)
			requireScripts(t, text)
		case language == "sh":
			out.WriteString("echo == block; bash -exuo pipefail <<'END_OF_BLOCK'\n" + text + "END_OF_BLOCK\n")
			blocks++
		case language == "yaml":
			out.WriteString("printf 'source: /srv/repo\\n' >/srv/c.yaml; cat >>/srv/c.yaml <<'END_OF_BLOCK'\n" + text + "END_OF_BLOCK\n")
			out.WriteString("jvsfs config check /srv/c.yaml\n")
			blocks++
		case language == "console":
			out.WriteString(consoleScript(text))
			blocks++
		case language == "json":
			require.Equal(t, "cmd/jvsfs/pages/jvsfs-agents.7.md", path, "TestTheConfigurationsOfTheAgentsPageWork has those")
		default:
			require.Equal(t, "fstab", language, "TestFstabLinesAreMounted has those")
		}
	}
	return out.String(), blocks
}

// requireScripts: what is run elsewhere is there, at least.
func requireScripts(t *testing.T, block string) {
	t.Helper()
	for _, script := range regexp.MustCompile(`(?m)^scripts/\S+`).FindAllString(block, -1) {
		info, err := os.Stat(filepath.Join("..", "..", script))
		require.NoError(t, err)
		require.NotZero(t, info.Mode()&0o111, script)
	}
}

// consoleScript types the lines with "$" and compares the answers but for numbers and names. If an answer
// names a holder, somebody else holds the lease of main meanwhile.
func consoleScript(text string) string {
	var typed strings.Builder
	for line := range strings.Lines(text) {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			command = strings.TrimSuffix(command, "\n")
			typed.WriteString("printf '$ %s\\n' " + quoted(command) + "\nbash -c " + quoted(command) + " || true\n")
		}
	}
	hold, end := "", ""
	if m := regexp.MustCompile(`\d for (.*?) \(token`).FindStringSubmatch(text); m != nil {
		hold = "findmnt -rn -t fuse.jvsfs -M /srv/repo >/dev/null || jvsfs mount --log-file /srv/log /srv/repo\nmkfifo /srv/held\njvsfs exec --purpose " + quoted(m[1]) +
			" /srv/repo/main -- sh -c 'echo >/srv/held; exec sleep 600' & holder=$!\nread -r _ </srv/held\n"
		end = "kill $holder\nwait $holder || true\nrm /srv/held\n"
	}
	return `echo == console
` + hold + `cat >/srv/typed <<'END_OF_BLOCK'
cd /srv/repo/main
` + typed.String() + `END_OF_BLOCK
cat >/srv/printed <<'END_OF_BLOCK'
` + text + `END_OF_BLOCK
setsid --wait bash /srv/typed >/srv/answered 2>&1
for file in /srv/printed /srv/answered; do
  sed -E -i -e 's/line [0-9]+: //' -e 's/[A-Za-z0-9.-]+:[a-z]+:[0-9]+:[0-9]+/HOLDER/g' -e 's/[0-9]+(\.[0-9]+)?/0/g' \
    -e 's/0ms ago/0s ago/' -e '/^make: /d' "$file"
done
diff /srv/printed /srv/answered
` + end
}

func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// runOnMachine runs the script where nothing of it is seen by the rest, and nothing stays
// but what lies in the machine's directory, below the one that is returned.
func runOnMachine(t *testing.T, script string) (base string) {
	t.Helper()
	checkout, err := filepath.Abs("../..")
	require.NoError(t, err)
	base = harness.NewBase(t)
	tools := filepath.Join(base, "tools")
	require.NoError(t, os.Mkdir(tools, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(tools, "agent"), []byte(agent), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(base, "script"), []byte(machine+script), 0o644))
	said, err := os.Create(filepath.Join(base, "said"))
	require.NoError(t, err)
	defer said.Close()

	const slowestBuild = "600"
	cmd := exec.Command("timeout", "-k", "5", slowestBuild, "unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
		"--propagation", "private", "bash", filepath.Join(base, "script"))
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = said, said, time.Second
	cmd.Env = append(os.Environ(), "MACHINE="+filepath.Join(base, "machine"), "CHECKOUT="+checkout, "LC_ALL=C.UTF-8",
		"PATH="+tools+":"+filepath.Dir(harness.RequireBinary(t))+":"+os.Getenv("PATH"),
		"GOCACHE="+goEnv(t, "GOCACHE"), "GOMODCACHE="+goEnv(t, "GOMODCACHE"), "GOFLAGS="+goEnv(t, "GOFLAGS")+" -buildvcs=false")
	err = cmd.Run()
	text, unread := os.ReadFile(said.Name())
	require.NoError(t, unread)
	require.NoError(t, err, string(text))
	return base
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	value, err := exec.Command("go", "env", name).Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(value))
}
