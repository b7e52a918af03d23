package fusefs

import (
	"reflect"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/gate"
)

// A method that go-fuse adds must be classified before it can reach the backing
// store; one that it drops must leave the table.
func TestEveryRawMethodIsClassified(t *testing.T) {
	raw := reflect.TypeOf((*fuse.RawFileSystem)(nil)).Elem()
	known := make(map[gate.Op]bool)
	for m := range raw.NumMethod() {
		name := raw.Method(m).Name
		op, ok := gate.OpByMethod(name)
		require.True(t, ok, "fuse.RawFileSystem.%s is not in gate's table of operations", name)
		known[op] = true
	}
	for _, op := range gate.Ops() {
		require.True(t, known[op], "gate's table names %s, which fuse.RawFileSystem does not have", op)
	}
}

// Embedding an implementation would let its methods through ungated.
func TestTheFileSystemEmbedsNoImplementation(t *testing.T) {
	fs := reflect.TypeOf(rawFS{})
	for i := range fs.NumField() {
		require.False(t, fs.Field(i).Anonymous, "rawFS embeds %s", fs.Field(i).Name)
	}
}
