package tools

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// lmdbCounter adds to one number in a database, a transaction each time.
const lmdbCounter = `
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#define CK(x) do { int r = (x); if (r) { fprintf(stderr, #x ": %s\n", mdb_strerror(r)); exit(1); } } while (0)
int main(int c, char **v) {
	MDB_env *e; MDB_txn *t; MDB_dbi d; MDB_val k = {1, "k"}, x;
	CK(mdb_env_create(&e)); CK(mdb_env_open(e, v[1], 0, 0644));
	long n = 0;
	for (int i = 0; i <= atoi(v[2]); i++) {
		CK(mdb_txn_begin(e, 0, 0, &t)); CK(mdb_dbi_open(t, 0, 0, &d));
		int r = mdb_get(t, d, &k, &x);
		if (r && r != MDB_NOTFOUND) CK(r);
		n = r ? 0 : *(long *)x.mv_data;
		if (i == atoi(v[2])) { mdb_txn_abort(t); break; }
		n++; x.mv_size = sizeof n; x.mv_data = &n;
		CK(mdb_put(t, d, &k, &x, 0)); CK(mdb_txn_commit(t));
	}
	printf("%ld\n", n);
	mdb_env_close(e);
	return 0;
}
`

// LMDB keeps its locks in mapped memory and settles by fcntl who makes it: within one
// mount that works as natively.
func TestToolLMDBWorksAsNatively(t *testing.T) {
	b := newBench(t, harness.WithFiles("f"))
	source, bin := filepath.Join(b.m.Base, "count.c"), filepath.Join(b.m.Base, "count")
	require.NoError(t, os.WriteFile(source, []byte(lmdbCounter), 0o644))
	b.native.OK("gcc", "-o", bin, source, "-llmdb")
	const each = 50
	script := fmt.Sprintf(`mkdir db; for i in 1 2 3 4; do %s db %d >/dev/null & p="$p $!"; done; for i in $p; do wait $i || exit 1; done; %[1]s db 0`, bin, each)
	for _, w := range []harness.Workshop{b.native, b.holder} {
		require.Equal(t, fmt.Sprintln(4*each), w.OK("sh", "-c", script))
	}
	require.Equal(t, fmt.Sprintln(4*each), b.native.OK(bin, b.m.Behind("db"), "0"))
}
