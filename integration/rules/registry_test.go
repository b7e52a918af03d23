//go:build jvsfs_programs

package rules

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// Programs that scripts/presets-test.sh installs.

func withText(name, text string) func(testing.TB, string) {
	return func(t testing.TB, dir string) {
		t.Helper()
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755))
	}
}

// guarded demands that a stranger changes nothing of what a program has locked, and not its lock.
func (w *work) guarded(file, lock string) {
	w.t.Helper()
	harness.Eventually(w.t, lock+" is there", func() bool { _, err := os.Lstat(w.At(lock)); return err == nil })
	remove := harness.Command{Op: "unlink", Path: w.At(lock)}
	if st, err := os.Lstat(w.Behind(lock)); err == nil && st.IsDir() {
		remove.Op = "rmdir"
	}
	try(w.t, w.stranger, []attempt{
		{"the lock is removed", remove, "EROFS"},
		{"what it guards is written", harness.Command{Op: "writefile", Path: w.At(file), Flags: unix.O_CREAT, Data: []byte("x")}, "EROFS"},
		{"what it guards is removed", harness.Command{Op: "unlink", Path: w.At(file)}, "EROFS"},
	})
}

// A cargo that builds has its profile's directory for itself. Another one waits for it, and then builds.
func TestACargoThatBuildsHasItsDirectoryForItself(t *testing.T) {
	w := workUnder(t, "cargo",
		withText("Cargo.toml", "[package]\nname = \"one\"\nversion = \"0.1.0\"\n"), withText("src/main.rs", "fn main() { println!(\"built\"); }\n"),
		withText("build.rs", "fn main() { if let Ok(gate) = std::env::var(\"GATE\") { std::fs::read(gate).unwrap(); } }\n"))
	rustup := cmp.Or(os.Getenv("RUSTUP_HOME"), filepath.Join(os.Getenv("HOME"), ".rustup")) // if cargo is rustup's
	w.env += "export RUSTUP_HOME=" + rustup + "; "
	w.does("cargo build --offline")
	goOn, first := w.begins("touch build.rs; GATE=" + filepath.Join(w.Base, "gate") + " cargo build --offline")
	w.guarded("target/debug/one", "target/debug/.cargo-lock")
	second := w.Start("sh", "-c", "cd "+w.At()+"; "+w.env+"cargo run --offline")
	harness.Eventually(t, "the second one waits for the first", func() bool {
		return strings.Contains(harness.ReadText(t, second.File), "Blocking waiting for file lock")
	})
	goOn()
	for _, b := range []*harness.Background{first, second} {
		exit, said := b.Wait()
		require.Zero(t, exit, said)
	}
	w.stranger.OK(harness.Command{Op: "unlink", Path: w.At("target", "debug", "one")})
}

// A script that has locked its settings by npm's proper-lockfile is the only one that changes them.
func TestAScriptWithProperLockfileIsTheOnlyWriter(t *testing.T) {
	script := `const lock = require('proper-lockfile'), fs = require('fs');
lock.lockSync('settings.json');
fs.writeFileSync('settings.json', '{"by": "it"}');
fs.readFileSync(process.argv[2]);
lock.unlockSync('settings.json');
`
	w := workUnder(t, "proper-lockfile", withText("settings.json", "{}"), withText("set.js", script))
	goOn, node := w.begins("NODE_PATH=/usr/share/nodejs node set.js " + filepath.Join(w.Base, "gate"))
	w.guarded("settings.json", "settings.json.lock")
	goOn()
	exit, said := node.Wait()
	require.Zero(t, exit, said)
	require.JSONEq(t, `{"by": "it"}`, harness.ReadText(t, w.Behind("settings.json")))
	w.stranger.OK(harness.Command{Op: "writefile", Path: w.At("settings.json"), Data: []byte("{}")})
}

// What has unsaved changes in Emacs is not changed by another program.
func TestWhatIsChangedInEmacsIsChangedByNobodyElse(t *testing.T) {
	w := workUnder(t, "emacs", withText("f.txt", "text\n"))
	goOn, emacs := w.begins(`emacs -Q --batch f.txt --eval '(progn (insert "in emacs ") (call-process "cat" nil nil nil "` +
		filepath.Join(w.Base, "gate") + `") (save-buffer))'`)
	w.guarded("f.txt", ".#f.txt")
	goOn()
	exit, said := emacs.Wait()
	require.Zero(t, exit, said)
	require.Equal(t, "in emacs text\n", harness.ReadText(t, w.Behind("f.txt")))
	require.NoFileExists(t, w.Behind(".#f.txt"))
}

// While terraform asks whether to go on, its state is nobody else's.
func TestATerraformThatAsksKeepsItsState(t *testing.T) {
	if _, err := exec.LookPath("terraform"); err != nil {
		t.Skip("terraform is in no registry: install it to run this story")
	}
	w := workUnder(t, "terraform", withText("main.tf", "resource \"terraform_data\" \"one\" {\n  input = \"one\"\n}\n"))
	w.does("CHECKPOINT_DISABLE=1 terraform init -no-color && CHECKPOINT_DISABLE=1 terraform apply -auto-approve -no-color")
	goOn, apply := w.begins("sed -i s/one.$/two\\\"/ main.tf; (" + w.waits() + "; echo yes) | CHECKPOINT_DISABLE=1 terraform apply -no-color")
	w.guarded("terraform.tfstate", ".terraform.tfstate.lock.info")
	goOn()
	exit, said := apply.Wait()
	require.Zero(t, exit, said)
	require.Contains(t, harness.ReadText(t, w.Behind("terraform.tfstate")), `"two"`)
	require.NoFileExists(t, w.Behind(".terraform.tfstate.lock.info"))
}
