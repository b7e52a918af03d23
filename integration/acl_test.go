package integration

import "encoding/binary"

// Tags of the kernel's binary ACL format, version 2 (linux/posix_acl_xattr.h).
const (
	aclUserObj  = 0x01
	aclUser     = 0x02
	aclGroupObj = 0x04
	aclGroup    = 0x08
	aclMask     = 0x10
	aclOther    = 0x20
	aclNobody   = 0xffffffff
)

type aclEntry struct {
	tag, perm uint16
	id        uint32
}

// encodeACL is the value of a system.posix_acl_* attribute; the kernel wants
// the entries in the order of their tags.
func encodeACL(entries ...aclEntry) []byte {
	out := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range entries {
		out = binary.LittleEndian.AppendUint16(out, e.tag)
		out = binary.LittleEndian.AppendUint16(out, e.perm)
		out = binary.LittleEndian.AppendUint32(out, e.id)
	}
	return out
}

// userACL is rwxr-x--- with reading and writing for one more user.
func userACL(uid uint32) []byte {
	return encodeACL(aclEntry{aclUserObj, 7, aclNobody}, aclEntry{aclUser, 6, uid},
		aclEntry{aclGroupObj, 5, aclNobody}, aclEntry{aclMask, 7, aclNobody}, aclEntry{aclOther, 0, aclNobody})
}
