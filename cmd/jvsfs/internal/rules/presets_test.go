package rules

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/mountcfg"
)

// compiled are the rules of a preset, or of a file.
func compiled(t *testing.T, text string) *lockfile.Rules {
	t.Helper()
	cfg, err := mountcfg.Rules(text, Check)
	require.NoError(t, err)
	r, err := Compile(cfg)
	require.NoError(t, err)
	return r
}

// said is what the rules say of a path, as words.
func said(p lockfile.Place) (all []string) {
	for _, i := range p.Locks {
		all = append(all, "lock of "+i.ID())
	}
	for _, i := range p.Guards {
		all = append(all, "guarded by "+i.ID()+" "+i.Path)
	}
	for word, rules := range map[string][]*lockfile.Rule{"once": p.Once, "keep": p.Keep, "append": p.Append} {
		for range rules {
			all = append(all, word)
		}
	}
	slices.Sort(all)
	return all
}

// Each preset says the right thing of the names that its program really has.
func TestWhatPresetsSay(t *testing.T) {
	for preset, rows := range map[string]map[string][]string{
		"af": {
			"proof/ledger/ledger.lock":     {"lock of af{p=proof}"},
			"ledger/ledger.lock":           {"lock of af{p=}"},
			"a/b/ledger/000001.json":       {"guarded by af{p=a/b} a/b/ledger/ledger.lock", "keep", "once"},
			"proof/ledger/event-12.json":   {"guarded by af{p=proof} proof/ledger/ledger.lock", "keep", "once"},
			"proof/ledger/.event-77.tmp":   {"guarded by af{p=proof} proof/ledger/ledger.lock"},
			"proof/meta.json":              nil,
			"proof/ledger":                 nil,
			"proof/locks/node-1.lock.json": nil,
		},
		"agency": {
			"repos/abc/.lock":               {"lock of agency{repo=abc}"},
			"repos/abc/meta.json":           {"guarded by agency{repo=abc} repos/abc/.lock"},
			"repos/abc/runs/7/meta.json":    {"guarded by agency{repo=abc} repos/abc/.lock"},
			"repos/abc/runs/7/events.jsonl": nil,
			"repos/abc":                     nil,
			"repo_index.json":               nil,
		},
		"agency-v2": {
			"repos/abc/.lock":     {"lock of agency-v2{repo=abc}"},
			"repos/abc/meta.json": {"guarded by agency-v2{repo=abc} repos/abc/.lock"},
		},
		"cargo": {
			"target/debug/.cargo-lock":                           {"lock of cargo{t=,profile=debug}"},
			"ws/target/release/app":                              {"guarded by cargo{t=ws,profile=release} ws/target/release/.cargo-lock"},
			"target/x86_64-unknown-linux-musl/debug/.cargo-lock": {"lock of cargo-cross{t=,triple=x86_64-unknown-linux-musl,profile=debug}"},
			"Cargo.lock":  nil,
			"src/main.rs": nil,
		},
		"vim-swap": {
			"doc/.a.txt.swp": {"lock of vim-swap{d=doc,f=a,ext=txt}"},
			"doc/a.b.txt":    {"guarded by vim-swap{d=doc,f=a.b,ext=txt} doc/.a.b.txt.swp"},
			"Makefile":       nil,
		},
		"emacs": {
			"doc/.#a.txt": {"lock of emacs{d=doc,f=a,ext=txt}"},
			"doc/a.b.txt": {"guarded by emacs{d=doc,f=a.b,ext=txt} doc/.#a.b.txt"},
		},
		"libreoffice": {
			".~lock.a.b.odt#": {"lock of libreoffice{d=,f=a.b,ext=odt}"},
			"doc/a.odt":       {"guarded by libreoffice{d=doc,f=a,ext=odt} doc/.~lock.a.odt#"},
		},
		"entwurf": {
			"entwurf-v2-locks/g1.lock":             {"lock of entwurf{d=,gid=g1}"},
			".pi/entwurf-v2-locks/g1.lock.reclaim": {"lock of entwurf-reclaim{d=.pi,gid=g1}"},
			"Cargo.lock":                           nil,
			".pi/entwurf-v2-locks/g1.json":         nil,
		},
		"git": {
			".git/index.lock":                 {"lock of git{r=,f=index}"},
			"a/b/.git/refs/heads/x/y.lock":    {"lock of git{r=a/b,f=refs/heads/x/y}"},
			".git/index":                      {"guarded by git{r=,f=index} .git/index.lock"},
			"sub/.git/HEAD":                   {"guarded by git{r=sub,f=HEAD} sub/.git/HEAD.lock"},
			".git/worktrees/wt/index":         {"guarded by git{r=,f=worktrees/wt/index} .git/worktrees/wt/index.lock"},
			".git/packed-refs":                {"guarded by git{r=,f=packed-refs} .git/packed-refs.lock"},
			".git/logs/HEAD":                  nil,
			".git/worktrees/wt/logs/HEAD":     nil,
			".git/modules/m/logs/HEAD":        nil,
			".git/COMMIT_EDITMSG":             nil,
			".git/worktrees/wt/MERGE_EDITMSG": nil,
			".git/objects/ab/cdef":            {"once"},
			".git/modules/m/objects/ab/0123":  {"once"},
			".git/objects/ab/tmp_obj_x":       nil,
			".git/objects/pack/pack-1.pack":   nil,
			".git/objects/pack/tmp_pack_x":    nil,
			"Cargo.lock":                      nil,
			"yarn.lock":                       nil,
			"README":                          nil,
			".gitignore":                      nil,
		},
		"jit": {
			".jit/.index.lock":        {"lock of jit-index{r=}"},
			"a/.jit/index.json":       {"guarded by jit-index{r=a} a/.jit/.index.lock"},
			".jit/gates.json":         {"guarded by jit-gates{r=} .jit/.gates.lock"},
			".jit/events.jsonl":       {"append", "guarded by jit-events{r=} .jit/.events.lock"},
			".jit/issues/01.lock":     {"lock of jit-issues{r=,id=01}"},
			".jit/issues/01.json":     {"guarded by jit-issues{r=,id=01} .jit/issues/01.lock"},
			".jit/issues/01.json.tmp": nil,
		},
		"proper-lockfile": {
			"db.json.lock":   {"lock of proper-lockfile{d=,f=db}"},
			"a/db.json":      {"guarded by proper-lockfile{d=a,f=db} a/db.json.lock"},
			"yarn.lock":      nil,
			"db.json.lock/x": nil,
		},
		"terraform": {
			".terraform.tfstate.lock.info":               {"lock of terraform{d=,f=terraform}"},
			"terraform.tfstate":                          {"guarded by terraform{d=,f=terraform} .terraform.tfstate.lock.info"},
			"terraform.tfstate.d/prod/terraform.tfstate": {"guarded by terraform{d=terraform.tfstate.d/prod,f=terraform} terraform.tfstate.d/prod/.terraform.tfstate.lock.info"},
			"terraform.tfstate.backup":                   nil,
			".terraform.lock.hcl":                        nil,
		},
	} {
		r := compiled(t, preset)
		for path, want := range rows {
			require.Equal(t, want, said(r.At(path)), "%s: %s", preset, path)
		}
	}
}

// Every preset compiles, also with all others.
func TestPresetsCompile(t *testing.T) {
	var all []mountcfg.LockRule
	for _, p := range mountcfg.Presets() {
		require.NotEmpty(t, compiled(t, p.Name).All(), p.Name)
		cfg, err := mountcfg.Rules(p.Name)
		require.NoError(t, err)
		all = append(all, cfg.Rules...)
	}
	require.Empty(t, Check(all))
}

// A configuration without rules has nil for them.
func TestNoRulesAreNone(t *testing.T) {
	r, err := Compile(mountcfg.Default())
	require.NoError(t, err)
	require.Nil(t, r)
}
