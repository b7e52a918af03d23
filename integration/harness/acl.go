package harness

import "encoding/binary"

// Tags of the kernel's binary ACL format, version 2 (linux/posix_acl_xattr.h).
const (
	ACLUserObj  = 0x01
	ACLUser     = 0x02
	ACLGroupObj = 0x04
	aclGroup    = 0x08
	ACLMask     = 0x10
	ACLOther    = 0x20
	ACLNobody   = 0xffffffff
)

// ACLEntry is one line of an ACL.
type ACLEntry struct {
	Tag, Perm uint16
	ID        uint32
}

// EncodeACL is the value of a system.posix_acl_* attribute; the kernel wants
// the entries in the order of their tags.
func EncodeACL(entries ...ACLEntry) []byte {
	out := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range entries {
		out = binary.LittleEndian.AppendUint16(out, e.Tag)
		out = binary.LittleEndian.AppendUint16(out, e.Perm)
		out = binary.LittleEndian.AppendUint32(out, e.ID)
	}
	return out
}

// UserACL is rwxr-x--- with reading and writing for one more user.
func UserACL(uid uint32) []byte {
	return EncodeACL(ACLEntry{ACLUserObj, 7, ACLNobody}, ACLEntry{ACLUser, 6, uid},
		ACLEntry{ACLGroupObj, 5, ACLNobody}, ACLEntry{ACLMask, 7, ACLNobody}, ACLEntry{ACLOther, 0, ACLNobody})
}

// ACLFor is an ACL that lets one user do everything besides the owner.
func ACLFor(uid uint32) []byte {
	return EncodeACL(ACLEntry{ACLUserObj, 7, ACLNobody}, ACLEntry{ACLUser, 7, uid},
		ACLEntry{ACLGroupObj, 0, ACLNobody}, ACLEntry{ACLMask, 7, ACLNobody}, ACLEntry{ACLOther, 0, ACLNobody})
}

// GroupACL is an ACL that lets one group do everything besides the owner.
func GroupACL(gid uint32) []byte {
	return EncodeACL(ACLEntry{ACLUserObj, 7, ACLNobody}, ACLEntry{ACLGroupObj, 0, ACLNobody},
		ACLEntry{aclGroup, 7, gid}, ACLEntry{ACLMask, 7, ACLNobody}, ACLEntry{ACLOther, 0, ACLNobody})
}

// The attributes that have ACLs.
const (
	ACLAccess  = "system.posix_acl_access"
	ACLDefault = "system.posix_acl_default"
)
