package layout

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"strings"

	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/lease"
)

// Parts are directories of a tree that are worktrees of their own, because a rule with taken_by: lease says so. What no
// part covers belongs to the worktree of the tree. A part lies in that, so that its root is a name of it; and a name
// that leads to parts is not that of another directory.

// WithParts is the layout with the parts that the rules tell of. The error says that it can have none.
func (l Layout) WithParts(rules *lockfile.Rules) (Layout, error) {
	if len(rules.Leases()) == 0 {
		return l, nil
	}
	if l.name != Tree {
		return l, fmt.Errorf("rule %s makes worktrees of directories (taken_by: lease), and the layout %s has worktrees of its own", rules.Leases()[0].Name, l.name)
	}
	l.parts = rules
	return l, nil
}

// HasParts reports whether directories of the tree have leases of their own.
func (l Layout) HasParts() bool { return l.parts != nil }

// IsPart reports whether a worktree is a part.
func (l Layout) IsPart(id lease.WorktreeID) bool { return l.HasParts() && id != l.tree }

// AbovePart reports whether parts may lie below a directory of that role.
func (r Role) AbovePart() bool { return strings.HasPrefix(string(r), string(aboveParts)) }

func (l Layout) roleAbove(dir string) Role {
	if !l.parts.LeasesBelow(dir) {
		return Plain
	}
	return aboveParts + Role(dir)
}

// inAboveParts is a name in a directory that parts lie below. A file there is the tree's, whatever its name.
func (l Layout) inAboveParts(above, name string) Entry {
	dir := path.Join(above, name)
	i, ok := l.parts.LeaseAt(dir)
	if !ok {
		return Entry{Role: l.roleAbove(dir)}
	}
	id := l.partID(i)
	return Entry{Own: &Rule{Kind: Guarded, Worktree: id, Name: dir}, Part: &Rule{Kind: Unheld, Worktree: id, Name: dir}, IfDir: true}
}

// partID is the worktree of an instance: the name of the rule and the values of the captures.
func (l Layout) partID(i lockfile.Instance) lease.WorktreeID {
	if id := PartID(i); id != l.tree {
		return id
	}
	return hashedID(i, 't') // the tree is called so
}

const (
	partSeparator = '.'
	partEscape    = '_'
	hashDigits    = 32
	ruleShown     = 40
	partIDMax     = 128 // as record.ParseWorktreeID has it
)

// PartID is the worktree of an instance, unless the tree has that id: RULE.VALUE.VALUE. Two instances never have one id:
// a dot in a value is "_.", "_" is "__", and another byte that no id may have is "_" and two digits. What is too long
// for that is told apart by its hash, behind the "_s" that no value has.
func PartID(i lockfile.Instance) lease.WorktreeID {
	var b strings.Builder
	encodePart(&b, i.Rule.Name)
	for _, c := range i.Captures {
		b.WriteByte(partSeparator)
		encodePart(&b, c.Value)
	}
	if b.Len() > partIDMax {
		return hashedID(i, 's')
	}
	return lease.WorktreeID(b.String())
}

func hashedID(i lockfile.Instance, mark byte) lease.WorktreeID {
	sum := sha256.Sum256([]byte(i.Rule.Name + "\x00" + i.Path))
	rule := i.Rule.Name[:min(len(i.Rule.Name), ruleShown)]
	return lease.WorktreeID(rule + string([]byte{partSeparator, partEscape, mark}) + hex.EncodeToString(sum[:])[:hashDigits])
}

func encodePart(b *strings.Builder, value string) {
	for i := range len(value) {
		switch c := value[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-':
			b.WriteByte(c)
		case c == partSeparator || c == partEscape:
			b.WriteByte(partEscape)
			b.WriteByte(c)
		default:
			b.WriteByte(partEscape)
			b.WriteByte(hexDigits[c>>4])
			b.WriteByte(hexDigits[c&15])
		}
	}
}

// rootOfPart is where a part lies below the source; "" if its id has a hash, or is none of a part.
func (l Layout) rootOfPart(id lease.WorktreeID) string {
	values, ok := decodePart(string(id))
	if !ok {
		return ""
	}
	for _, r := range l.parts.Leases() {
		if r.Name != values[0] {
			continue
		}
		if dir, ok := r.LeaseRoot(values[1:]); ok {
			if i, ok := l.parts.LeaseAt(dir); ok && l.partID(i) == id {
				return dir
			}
		}
	}
	return ""
}

// decodePart undoes PartID, but for a hash.
func decodePart(id string) (values []string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(id); i++ {
		switch c := id[i]; {
		case c == partSeparator:
			values = append(values, b.String())
			b.Reset()
		case c != partEscape:
			b.WriteByte(c)
		case i+1 < len(id) && (id[i+1] == partEscape || id[i+1] == partSeparator):
			i++
			b.WriteByte(id[i])
		default:
			raw, err := hex.DecodeString(id[min(i+1, len(id)):min(i+3, len(id))])
			if err != nil || len(raw) != 1 {
				return nil, false
			}
			b.Write(raw)
			i += 2
		}
	}
	return append(values, b.String()), true
}
