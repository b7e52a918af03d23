package process

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// A request does not carry all credentials of its caller. The rest is read from /proc; the caller
// is blocked in its system call meanwhile. A caller that is not visible here (TID 0) has no groups
// and no capabilities.

// InGroup reports whether a group is one of the caller's supplementary groups.
func InGroup(c Caller, gid uint32) bool {
	groups, err := statusField(c, "Groups")
	return err == nil && slices.Contains(strings.Fields(groups), strconv.FormatUint(uint64(gid), 10))
}

// HasCapability reports whether a capability is effective for the caller in the daemon's own user
// namespace. One that counts only in another namespace does not count here.
func HasCapability(c Caller, capability int) bool {
	text, err := statusField(c, "CapEff")
	if err != nil {
		return false
	}
	caps, err := strconv.ParseUint(text, 16, 64)
	return err == nil && caps&(1<<capability) != 0 && sameUserNamespace(c)
}

func sameUserNamespace(c Caller) bool {
	own, err := os.Readlink("/proc/self/ns/user")
	if err != nil {
		return false
	}
	theirs, err := os.Readlink(procFile(int(c.TID), "ns/user"))
	return err == nil && own == theirs
}

func statusField(c Caller, field string) (string, error) {
	if c.TID == 0 {
		return "", ErrUnseen
	}
	s, err := ReadStatus(int(c.TID))
	if err != nil {
		return "", err
	}
	if v, ok := s.Field(field); ok {
		return v, nil
	}
	return "", fmt.Errorf("/proc/%d/status has no %s", c.TID, field+":")
}

// Credentials decide about a caller's permissions. If the caller is not visible here, only its ids
// are known.
type Credentials struct {
	UID, GID uint32 // of the file system
	Groups   []uint32
	// Effective are the capabilities over inodes whose owner and group are in the maps. Without
	// maps they count for every inode.
	Effective  uint64
	UIDs, GIDs []IDRange
}

// IDRange is a line of /proc/PID/uid_map as the daemon sees it.
type IDRange struct{ First, Count uint32 }

// CredentialsOf reads the credentials of a caller. If the caller is not visible, only its ids
// count, and user 0 is the superuser.
func CredentialsOf(c Caller) (Credentials, error) {
	k := Credentials{UID: c.UID, GID: c.GID}
	if c.TID == 0 {
		if k.UID == 0 {
			k.Effective = ^uint64(0)
		}
		return k, nil
	}
	groups, err := statusField(c, "Groups")
	if err != nil {
		return k, err
	}
	for _, g := range strings.Fields(groups) {
		n, err := strconv.ParseUint(g, 10, 32)
		if err != nil {
			return k, fmt.Errorf("/proc/%d/status: Groups: %w", c.TID, err)
		}
		k.Groups = append(k.Groups, uint32(n))
	}
	caps, err := statusField(c, "CapEff")
	if err != nil {
		return k, err
	}
	if k.Effective, err = strconv.ParseUint(caps, 16, 64); err != nil || sameUserNamespace(c) {
		return k, err
	}
	if k.UIDs, err = readIDMap(c, "uid_map"); err == nil {
		k.GIDs, err = readIDMap(c, "gid_map")
	}
	return k, err
}

// CredentialsOfProcess reads the credentials of a process, with its ids.
func CredentialsOfProcess(pid int) (Credentials, error) {
	s, err := ReadStatus(pid)
	if err != nil {
		return Credentials{}, err
	}
	uid, err1 := s.id(pid, "Uid", ofFileSystem)
	gid, err2 := s.id(pid, "Gid", ofFileSystem)
	if err := errors.Join(err1, err2); err != nil {
		return Credentials{}, err
	}
	return CredentialsOf(Caller{TID: uint32(pid), UID: uid, GID: gid})
}

// readIDMap returns nil only with an error. An empty map belongs to a namespace in which no id
// means anything.
func readIDMap(c Caller, file string) ([]IDRange, error) {
	b, err := readProc(int(c.TID), file)
	if err != nil {
		return nil, err
	}
	ranges := []IDRange{}
	for line := range strings.Lines(string(b)) {
		var inside, r = uint32(0), IDRange{}
		if _, err := fmt.Sscan(line, &inside, &r.First, &r.Count); err != nil {
			return nil, fmt.Errorf("/proc/%d/%s: %w", c.TID, file, err)
		}
		ranges = append(ranges, r)
	}
	return ranges, nil
}

// Capable reports whether a capability counts for an inode. Source: capabilities(7),
// capable_wrt_inode_uidgid in Linux.
func (k Credentials) Capable(capability int, uid, gid uint32) bool {
	if k.Effective&(1<<capability) == 0 {
		return false
	}
	return k.UIDs == nil && k.GIDs == nil || within(k.UIDs, uid) && within(k.GIDs, gid)
}

// Everywhere returns the capabilities that count for every inode.
func (k Credentials) Everywhere() uint64 {
	if k.UIDs != nil || k.GIDs != nil {
		return 0
	}
	return k.Effective
}

func within(ranges []IDRange, id uint32) bool {
	return slices.ContainsFunc(ranges, func(r IDRange) bool { return id >= r.First && id-r.First < r.Count })
}
