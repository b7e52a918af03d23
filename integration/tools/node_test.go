package tools

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

const nodeWrites = `
const fs = require("fs");
fs.mkdirSync("pkg/lib", {recursive: true});
fs.writeFileSync("pkg/lib/a.txt", "first");
fs.appendFileSync("pkg/lib/a.txt", " and more");
fs.writeFileSync("pkg/lib/.tmp", "renamed over", {flag: "wx", mode: 0o600});
fs.renameSync("pkg/lib/.tmp", "pkg/lib/a.txt");
fs.copyFileSync("pkg/lib/a.txt", "pkg/lib/b.txt");
fs.truncateSync("pkg/lib/b.txt", 3);
fs.symlinkSync("a.txt", "pkg/lib/c.txt");
fs.cpSync("pkg/lib", "pkg/copy", {recursive: true, verbatimSymlinks: true});
fs.rmSync("pkg/copy/b.txt");
fs.writeFileSync("big", Buffer.alloc(3 << 20, "x"));
`

func TestToolNodeWorksAsNatively(t *testing.T) {
	b := newBench(t, harness.WithFiles("f"))
	b.same([]string{"node", "-e", nodeWrites})
	b.sameTrees(nil, harness.LeaveTimes)
	require.Equal(t, "renamed over", b.stranger.OK("node", "-p", "require('fs').readFileSync('pkg/lib/c.txt','utf8').trim()")[:12])
}

func TestToolNpmWorksAsNatively(t *testing.T) {
	b := newBench(t, harness.WithDir("pkg"))
	b.same(
		[]string{"sh", "-c", "cd pkg && npm init -y"},
		[]string{"sh", "-c", "cd pkg && npm pkg set description=made scripts.hello='echo hello'"},
		[]string{"sh", "-c", "cd pkg && npm run hello"},
	)
	b.sameTrees(nil, harness.LeaveTimes)
}

func TestToolNodeIsRefusedWhileAnotherHolds(t *testing.T) {
	b := newBench(t, func(t testing.TB, dir string) {
		harness.WithFiles("f")(t, dir)
		writeFiles(t, dir, map[string]string{"pkg/package.json": `{"name":"pkg","version":"1.0.0"}`, "empty/x": "x"})
	})
	b.whileHeld(func(s harness.Workshop) {
		const errno = "EROFS: read-only file system"
		for _, call := range []string{"writeFileSync('f','x')", "writeFileSync('new','x')", "renameSync('f','g')",
			"appendFileSync('f','x')", "mkdirSync('d')", "rmSync('f')", "truncateSync('f')", "chmodSync('f',0)"} {
			s.Fails(1, errno, "node", "-e", "require('fs')."+call)
		}
		s.Fails(226, errno, "sh", "-c", "cd empty && npm init -y")
		s.Fails(226, errno, "sh", "-c", "cd pkg && npm pkg set description=made")
		require.Contains(t, s.OK("sh", "-c", "cd pkg && npm pkg get name"), "pkg")
	})
}
