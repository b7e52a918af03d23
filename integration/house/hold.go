package house

import (
	"flag"

	"github.com/stretchr/testify/require"
)

var writes = flag.Bool("lower", false, "write the figures as they are now, where they became less")

// Hold fails the test where something that was measured is above its figure in the file, or became less than its figure says.
func Hold(t require.TestingT, path string, measured map[Figure]int) {
	if *writes {
		require.NoError(t, lower(path, measured))
	}
	figures, err := Read(path)
	require.NoError(t, err)
	figures, _ = split(figures, kindsOf(measured))
	higher, better := Compare(above(measured), figures)
	require.Empty(t, higher, "these grew")
	require.Empty(t, better, "these became less: the same test with -lower writes the figures")
}
