package layout

import (
	"encoding/json"
	"slices"
	"strings"
)

// JVS keeps a snapshot in .jvs/snapshots/ID, and what describes it in .jvs/descriptors/ID.json. It makes the snapshot
// there or in ID.tmp, and marks it with .READY; then the descriptor comes (JVS with locks), or the snapshot gets its
// name after the descriptor (today's). Both are there when the snapshot counts, and not before.
const (
	snapshotsName   = "snapshots"
	descriptorsName = "descriptors"
	descriptorExt   = ".json"
	readyName       = ".READY"

	snapshotsDir   = controlName + "/" + snapshotsName + "/"
	descriptorsDir = controlName + "/" + descriptorsName + "/"
)

// Descriptors is the directory that names every READY snapshot, below the source.
const Descriptors = controlName + "/" + descriptorsName

func ofSnapshots(name string) Entry {
	if name == snapshotsName || name == descriptorsName {
		return Entry{Own: Snapshots}
	}
	return Entry{}
}

// CarriesSnapshots reports whether a name leads to snapshots: who moves it moves them.
func (e Entry) CarriesSnapshots() bool {
	return e.Own == Snapshots || e.Role == controlDir || e.Role == folderControl
}

// SnapshotOf tells to which snapshot a path below the source belongs: what lies in it, its own name, and its descriptor.
func SnapshotOf(rel string) (id string, is bool) {
	if in, ok := strings.CutPrefix(rel, snapshotsDir); ok {
		id, _, _ = strings.Cut(in, "/")
		return id, id != ""
	}
	name, in := strings.CutPrefix(rel, descriptorsDir)
	id, describes := strings.CutSuffix(name, descriptorExt)
	if !in || !describes || strings.Contains(id, "/") {
		return "", false
	}
	return id, id != ""
}

// ReadyMarks are the two files that are there when a snapshot is READY.
func ReadyMarks(id string) [2]string {
	return [2]string{snapshotsDir + id + "/" + readyName, descriptorsDir + id + descriptorExt}
}

// Publishes reports whether a snapshot can become READY, or be no more, when the name of a path changes.
func Publishes(rel string) bool {
	id, is := SnapshotOf(rel)
	if !is {
		return rel == controlName || rel+"/" == snapshotsDir || rel == Descriptors
	}
	marks := ReadyMarks(id)
	return rel == snapshotsDir+id || rel == marks[0] || rel == marks[1]
}

// restores are how JVS calls what it makes beside the root of a worktree while it restores in place: the next content,
// and the one before.
var restores = []string{".restore-tmp-", ".restore-backup-", ".recovery-restore-tmp-"}

// besides tells whose content a name beside the roots of worktrees is. It has the guard of that worktree: what lies
// there takes the place of the root by a rename, or has just lost it.
func besides(name string) (worktree string, is bool) {
	for _, r := range restores {
		if of, after, ok := strings.Cut(name, r); ok && of != "" && after != "" {
			return of, true
		}
	}
	return "", false
}

// Plans reports whether a plan of a garbage collection of JVS names a snapshot.
func Plans(text []byte, id string) bool {
	var plan struct {
		ToDelete []string `json:"to_delete"`
	}
	return json.Unmarshal(text, &plan) == nil && slices.Contains(plan.ToDelete, id)
}
