package layout

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/usage"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/client"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/place"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/lease"
)

// New is jvsfs layout.
func New(io console.Streams) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use: "layout PATH...", Short: "Print what guards a path, and why",
		Long: `Print for each PATH which worktree's lease guards it, in which layout, and why.
On a jvsfs mount, or in a source that is mounted elsewhere, the layout is that of the
mount. Anywhere else it is the one that "jvsfs mount" would choose. PATH need not exist.
Whether a write would pass just now, jvsfs explain says.`,
		Args: usage.Args(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			all := make([]guardedPath, 0, len(args))
			for _, path := range args {
				g, err := guardOf(cmd.Context(), path)
				if err != nil {
					return err
				}
				all = append(all, g)
			}
			if asJSON {
				return human.PrintJSON(io.Out, all)
			}
			return printGuarded(io.Out, all)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// guardedPath is one path in `layout --json`; the names are a promise.
type guardedPath struct {
	Path     string           `json:"path"`
	Source   string           `json:"source"`
	Layout   layout.Name      `json:"layout"`
	Guard    string           `json:"guard"` // worktree, none, sealed, append, everybody, add_only or bad_name
	Worktree lease.WorktreeID `json:"worktree,omitempty"`
	Rule     string           `json:"rule,omitempty"` // the instance that makes the worktree, of a rule with taken_by: lease
	Why      string           `json:"why"`
	Mount    string           `json:"mountpoint,omitempty"` // "": nothing guards it now
}

// guardOf looks a path up as the mount that serves it does, or as one would.
func guardOf(ctx context.Context, path string) (guardedPath, error) {
	t, err := client.Find(ctx, path, "")
	if t.Path == "" {
		return guardedPath{}, err
	}
	g, locks, rel, p := guardedPath{Path: t.Path}, "", t.Rel, place.Place{}
	if t.Mount != nil {
		st := client.StatusOf(ctx, t.Mount)
		if st.Layout == "" {
			return g, &api.Failure{Class: api.ClassNoMount, Message: fmt.Sprintf("the mount at %s does not say what it guards (%s)", st.Mountpoint, st.State), Next: st.Next}
		}
		rel = resolvedIn(t, rel)
		p = place.Place{ID: st.Worktree, Root: st.Source, Layout: st.Layout, Rules: partsOf(st.Parts)}
		if st.Repository != "" {
			if p, err = place.RepositoryOf(p, st.Repository); err != nil {
				return g, err
			}
		}
		locks, g.Source, g.Layout = st.Locks, st.Source, st.Layout
		g.Mount, g.Why = st.Mountpoint, "mounted at "+st.Mountpoint
	} else {
		if p, rel, err = place.Above(t.Path); err != nil {
			return g, err
		}
		locks, g.Source, g.Layout, g.Why = p.LockDir, p.Root, p.Layout, p.Why
	}
	l, err := place.LayoutAt(p, g.Mount)
	if err != nil {
		return g, err
	}
	info, err := os.Lstat(t.Path)
	isDir := err == nil && info.IsDir() || err != nil && l.HasParts() // who names a part that is still to be made means its lease
	rule := place.GuardOf(g.Source, l, rel, isDir)
	if host.Within(locks, filepath.Join(g.Source, rel)) {
		rule = layout.Sealed
	}
	g.Guard, g.Worktree = guardNames[rule.Kind], rule.Worktree
	if i, ok := p.Rules.LeaseOf(rel); ok && l.IsPart(g.Worktree) {
		g.Rule = i.ID()
	}
	return g, nil
}

// partsOf are the rules of a mount that give directories leases of their own. It has checked them.
func partsOf(all []api.PartRule) *lockfile.Rules {
	var specs []lockfile.Spec
	for _, r := range all {
		specs = append(specs, lockfile.Spec{Name: r.Rule, TakenBy: lockfile.ByLease, Guards: []string{r.Guards}, Except: r.Except})
	}
	rules, _ := lockfile.Compile(specs)
	return rules
}

// resolvedIn follows symbolic links on a mount that answers. What leads out of it, or to
// nothing, stays as it is written.
func resolvedIn(t client.Target, rel string) string {
	if path, err := filepath.EvalSymlinks(t.Path); err == nil && host.Within(t.Mount.Mountpoint, path) {
		return host.InMount(t.Mount, path)
	}
	return rel
}

var guardNames = map[layout.Kind]string{
	layout.Guarded: "worktree", layout.PassThrough: "none", layout.SealedOff: "sealed", layout.AppendOnly: "append", layout.BadName: "bad_name",
	layout.Everybodys: "everybody", layout.AddOnly: "add_only", layout.Snapshot: "snapshot",
}

var guardTexts = map[string]string{
	"none":      "nobody is asked: no lease covers it",
	"sealed":    "sealed: only jvsfs changes it",
	"append":    "the audit chain: anybody may append to it, as JVS does",
	"everybody": "shared by all checkouts: git keeps its writers apart by lock files",
	"add_only":  "shared by all checkouts: files are added and removed, and never changed",
	"snapshot":  "a snapshot of JVS: nobody changes it once it is READY, and JVS alone removes it then",
	"bad_name":  "no worktree can have that name, so nobody writes there",
}

func printGuarded(w io.Writer, all []guardedPath) error {
	for _, g := range all {
		text := guardTexts[g.Guard]
		if g.Worktree != "" {
			text = fmt.Sprintf("guarded by the lease of worktree %s", g.Worktree)
		}
		if g.Rule != "" {
			text += ", by rule " + human.Printable(g.Rule)
		}
		if g.Mount == "" {
			text = "not mounted; with a mount: " + text
		}
		if _, err := fmt.Fprintf(w, "%s: %s (layout %s of %s: %s)\n", g.Path, text, g.Layout, g.Source, g.Why); err != nil {
			return err
		}
	}
	return nil
}
