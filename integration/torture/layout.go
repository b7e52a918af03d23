package main

import (
	"os"
	"path/filepath"

	"github.com/jvsfs/jvsfs/integration/torture/plan"
)

// layout is where the parts of a history are: either a repository with several worktrees, or a plain directory.
type layout struct {
	Base  string
	Repo  bool
	Roams bool // there is a worktree whose root is renamed
}

// place is one worktree. The id of a plain directory is jvsfs's own business, and empty here.
type place struct{ ID, Rel string }

func (l layout) places() []place {
	if !l.Repo {
		return []place{{}}
	}
	return []place{{"main", "main"}, {"a", "worktrees/a"}}
}

func (l layout) at(names ...string) string {
	return filepath.Join(append([]string{l.Base}, names...)...)
}

// backing is a path on the backing store.
func (l layout) backing(p place, names ...string) string {
	return l.at(append([]string{"backing", p.Rel}, names...)...)
}

func (l layout) locks() string {
	if l.Repo {
		return l.at("backing", ".jvs", "locks")
	}
	return l.at("locks")
}

func (l layout) audit() string {
	if l.Repo {
		return l.at("backing", ".jvs", "audit", "audit.jsonl")
	}
	return l.at("locks", "audit.jsonl")
}

// marks is where the grants of a worktree are marked between the changes of names.
func (l layout) marks(p place) string { return l.at("marks", "of-"+p.ID) }

// claims matches the claims of a worktree.
func (l layout) claims(p place) string {
	if l.Repo {
		return filepath.Join(l.locks(), p.ID+".claim.*")
	}
	return filepath.Join(l.locks(), "*.claim.*")
}

const pageSize = 4096

// make makes everything that must be there before the first host.
func (l layout) make() error {
	dirs := []string{l.at("backing"), l.at("locks"), l.at("meta"), l.at("histories"), l.at("marks")}
	if l.Repo {
		dirs = append(dirs, l.at("backing", ".jvs"), filepath.Dir(l.audit()), l.locks())
	}
	for _, p := range l.places() {
		dirs = append(dirs, l.backing(p, "made"), l.backing(p, "saves"), l.marks(p))
	}
	if err := os.Chmod(l.Base, 0o755); err != nil { // strangers come in, and look
		return err
	}
	for _, d := range dirs {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	for _, d := range []string{l.locks(), l.at("meta"), l.at("histories"), l.at("marks")} {
		if err := os.Chmod(d, 0o700); err != nil {
			return err
		}
	}
	for _, p := range l.places() {
		for name, size := range map[string]int{"log": 0, "slots": slotsCount * plan.RecordSize, "pages": slotsCount * pageSize} {
			if err := os.WriteFile(l.backing(p, name), make([]byte, size), 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}
