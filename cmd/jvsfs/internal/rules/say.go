package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jvsfs/jvsfs/gate/lockfile"
)

// Said is what rules say of a path; the JSON names are a promise.
type Said struct {
	Path   string         `json:"path"`             // below the root of the source
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
		Path: path, Locks: instances(p.Locks), Guards: instances(p.Guards), Below: instances(r.Below(path)),
		Once: names(p.Once), Keep: names(p.Keep), Append: names(p.Append),
	}
}

func instances(all []lockfile.Instance) (out []instanceView) {
	for _, i := range all {
		v := instanceView{Rule: i.Rule.Name, Instance: i.ID(), Lock: i.Path}
		for _, c := range i.Captures {
			if v.Captures == nil {
				v.Captures = make(map[string]string)
			}
			v.Captures[c.Name] = c.Value
		}
		out = append(out, v)
	}
	return out
}

func names(all []*lockfile.Rule) (out []string) {
	for _, r := range all {
		out = append(out, r.Name)
	}
	return out
}

// Sentences are the same for people.
func (s Said) Sentences() (all []string) {
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
