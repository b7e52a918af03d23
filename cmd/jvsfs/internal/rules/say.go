package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/lockfile"
)

// Said is what rules say of a path; the JSON names are a promise.
type Said struct {
	Path   string         `json:"path"`             // below the root of the source
	Lease  *leaseView     `json:"lease,omitempty"`  // the directory with a lease of its own that it is, or lies in
	Locks  []instanceView `json:"locks,omitempty"`  // whose lock it is
	Guards []instanceView `json:"guards,omitempty"` // a change of it needs these locks
	Below  []instanceView `json:"below,omitempty"`  // as a directory: a change of its name needs these
	Once   []string       `json:"once,omitempty"`   // the rules that let nobody change it
	Keep   []string       `json:"keep,omitempty"`   // the rules that let nobody remove it
	Append []string       `json:"append,omitempty"` // the rules that let it grow only
}

// instanceView is a rule with its captures filled in; the JSON names are a promise.
type instanceView struct {
	Rule     string            `json:"rule"`
	Instance string            `json:"instance"`
	Lock     string            `json:"lock"`
	Captures map[string]string `json:"captures,omitempty"`
}

// Say asks rules about a path.
func Say(r *lockfile.Rules, path string) Said {
	p := r.At(path)
	return Said{
		Path: path, Lease: leaseOf(r, path), Locks: instances(p.Locks), Guards: instances(p.Guards), Below: instances(r.Below(path)),
		Once: names(p.Once), Keep: names(p.Keep), Append: names(p.Append),
	}
}

// leaseView is an instance of a rule with taken_by: lease; the JSON names are a promise.
type leaseView struct {
	Rule     string            `json:"rule"`
	Instance string            `json:"instance"`
	Worktree string            `json:"worktree"`
	Root     string            `json:"root"`
	Captures map[string]string `json:"captures,omitempty"`
}

func leaseOf(r *lockfile.Rules, path string) *leaseView {
	i, ok := r.LeaseOf(path)
	if !ok {
		return nil
	}
	return &leaseView{Rule: i.Rule.Name, Instance: i.ID(), Worktree: string(layout.PartID(i)), Root: i.Path, Captures: capturesOf(i)}
}

func (v leaseView) sentence(path string) string {
	if path == v.Root {
		return fmt.Sprintf("as a directory, it is worktree %s, with a lease of its own by %s", v.Worktree, v.Instance)
	}
	return fmt.Sprintf("guarded by the lease of worktree %s, by %s: its root is %s", v.Worktree, v.Instance, v.Root)
}

func instances(all []lockfile.Instance) (out []instanceView) {
	for _, i := range all {
		out = append(out, instanceView{Rule: i.Rule.Name, Instance: i.ID(), Lock: i.Path, Captures: capturesOf(i)})
	}
	return out
}

func capturesOf(i lockfile.Instance) (all map[string]string) {
	for _, c := range i.Captures {
		if all == nil {
			all = make(map[string]string)
		}
		all[c.Name] = c.Value
	}
	return all
}

func names(all []*lockfile.Rule) (out []string) {
	for _, r := range all {
		out = append(out, r.Name)
	}
	return out
}

// Sentences are the same for people.
func (s Said) Sentences() (all []string) {
	if s.Lease != nil {
		all = append(all, s.Lease.sentence(s.Path))
	}
	for _, i := range s.Locks {
		all = append(all, "it is the lock of "+i.Instance)
	}
	for _, i := range s.Guards {
		all = append(all, fmt.Sprintf("guarded by %s: its lock is %s", i.Instance, i.Lock))
	}
	for _, i := range s.Below {
		if slices.ContainsFunc(s.Guards, func(g instanceView) bool { return g.Instance == i.Instance }) {
			continue // it is guarded whatever it is
		}
		all = append(all, fmt.Sprintf("as a directory, its name is guarded by %s: its lock is %s", i.Instance, i.Lock))
	}
	for _, one := range []struct {
		rules []string
		text  string
	}{
		{s.Once, "never changed once it is there (once of %s)"},
		{s.Keep, "never removed or renamed (keep of %s)"},
		{s.Append, "may only grow (append of %s)"},
	} {
		if len(one.rules) > 0 {
			all = append(all, fmt.Sprintf(one.text, strings.Join(one.rules, ", ")))
		}
	}
	if len(all) == 0 {
		all = []string{"no rule says anything"}
	}
	return all
}
