package record

import (
	"crypto/rand"
	"fmt"
)

// newUUID is a random UUID (RFC 9562, version 4): the spec's form of lock_id and session_id.
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: package crypto/rand ends the program instead
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
