package agents

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const moosefs = "fence_jvsfs_moosefs"

// fakeMaster is the mfscli and the mfsmaster of MooseFS 3.0.117 over a file of exports: session 7 of 10.0.0.1 is connected, 8 sleeps, and 9
// is of 10.0.0.11. A reload has the master end connections; it removes what is not connected.
const fakeMaster = `
case "$0 $*" in
*mfsmaster*reload) cp $exports $at/told; [ -e $at/stays ] || touch $at/asleep.7 ;;
*-CRS/*)
  id=${*##*/}
  if [ -e $at/asleep.$id ]; then touch $at/gone.$id; echo "Session $id has been removed"; else echo "Session $id can't be removed because is still active"; fi ;;
*-S*)
  [ ! -e $at/down ] || { echo "Working master servers not found !!!"; exit 0; }
  grep -v '^#' $at/told | while read -r from dir options; do
    to=$from
    case $from in
    '*') from=0.0.0.0 to=255.255.255.255 ;;
    10.0.0.0/24) from=10.0.0.0 to=10.0.0.255 ;;
    esac
    echo "exports:|$from|$to|$dir|0.0.0|yes|no|rw|yes|no|yes|0|0|-|-|-|-|-|-|000|00000000"
  done
  case "$*" in *-SMS*)
    for s in 7:10.0.0.1 8:10.0.0.1 9:10.0.0.11; do
      [ ! -e $at/gone.${s%%:*} ] || continue
      kind=active; [ ! -e $at/asleep.${s%%:*} ] || kind=inactive
      echo "$kind mounts, parameters:|${s%%:*}|${s#*:}|/mnt/store|8|1|3.0.117|/"
    done ;;
  esac ;;
esac`

// master puts the two programs into the PATH, and returns where the fake has its files.
func master(t *testing.T, exports string) (at string, base []string) {
	t.Helper()
	at = t.TempDir()
	text := "#!/bin/sh\nexports=" + at + "/mfsexports.cfg at=" + at + fakeMaster + "\n"
	for _, name := range []string{"mfscli", "mfsmaster"} {
		require.NoError(t, os.WriteFile(filepath.Join(at, name), []byte(text), 0o755))
	}
	for _, name := range []string{"mfsexports.cfg", "told"} {
		require.NoError(t, os.WriteFile(filepath.Join(at, name), []byte(exports), 0o644))
	}
	touch(t, filepath.Join(at, "asleep.8"))
	t.Setenv("PATH", at+":"+os.Getenv("PATH"))
	return at, []string{"nodename=h1", "address=10.0.0.1", "exports=" + at + "/mfsexports.cfg", "wait=2"}
}

const threeHosts = "10.0.0.1 / rw\n10.0.0.1 . rw\n10.0.0.11 / rw\n# 10.0.0.1 a word\n"

func TestMooseFSTakesTheHostOffTheExports(t *testing.T) {
	at, base := master(t, threeHosts)
	does(t, moosefs, append(base, "action=status")...)
	does(t, moosefs, append(base, "plug=7")...)
	require.Equal(t, []string{"#jvsfs-fence 10.0.0.1 / rw", "#jvsfs-fence 10.0.0.1 . rw", "10.0.0.11 / rw", "# 10.0.0.1 a word"}, lines(at+"/mfsexports.cfg"))
	require.FileExists(t, at+"/gone.7")
	require.FileExists(t, at+"/gone.8", "a session that sleeps has its locks, too")
	require.NoFileExists(t, at+"/gone.9")
	exit, said := run(t, moosefs, append(base, "action=status")...)
	require.Equal(t, 2, exit, said)
	does(t, moosefs, append(base, "plug=7")...) // again
	refuses(t, "client_gone=yes is missing", moosefs, append(base, "action=on")...)
	does(t, moosefs, append(base, "action=on", "client_gone=yes")...)
	require.Equal(t, threeHosts, string(text(t, at+"/mfsexports.cfg")))
	does(t, moosefs, append(base, "action=status")...)
}

func text(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return b
}

func TestMooseFSAgentRefusesWhatProvesNothing(t *testing.T) {
	for _, wide := range []string{"* / rw\n", "10.0.0.0/24 / rw\n"} {
		at, base := master(t, threeHosts+wide)
		refuses(t, "give each host a line of its own", moosefs, base...)
		require.Equal(t, threeHosts+wide, string(text(t, at+"/mfsexports.cfg")), "nothing has changed")
	}
	at, base := master(t, threeHosts)
	refuses(t, "session 9 is of 10.0.0.11, not of 10.0.0.1", moosefs, append(base, "plug=9")...)
	refuses(t, "address 10.0.0.1,,10.0.0.2 is none", moosefs, append(base, "address=10.0.0.1,,10.0.0.2")...)
	refuses(t, "address $(x) is none", moosefs, append(base, "address=$(x)")...)
	refuses(t, "has no address here", moosefs, append(base, "address=", "nodename=no-such-host.invalid")...)
	refuses(t, "path from the root", moosefs, append(base, "exports=x")...)
	refuses(t, "quotation mark", moosefs, append(base, "config=/x'y")...)
	refuses(t, "is not one of", moosefs, append(base, "action=reboot")...)
	refuses(t, "could not be changed", moosefs, append(base, "via=false")...)
	require.Equal(t, threeHosts, string(text(t, at+"/mfsexports.cfg")), "nothing has changed")
	touch(t, at+"/stays")
	refuses(t, "10.0.0.1 still has sessions: 7", moosefs, base...)
	touch(t, at+"/down")
	refuses(t, "cannot be read", moosefs, base...)
}
