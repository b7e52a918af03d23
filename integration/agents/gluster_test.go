package agents

import (
	"cmp"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const gluster = "fence_jvsfs_gluster"

// fakeGluster answers as Gluster 10 does: two clients, and who is rejected loses his connections.
const fakeGluster = `
echo "$*" >>$calls
[ "$1" = --mode=script ] || exit 1
rejects() { cat $calls.reject 2>/dev/null; }
case "$*" in
*"volume get v auth.reject")
  [ ! -e $calls.down ] || exit 1
  printf 'Option                                   Value\n------                                   -----\n'
  printf 'auth.reject                              %s\n' "$(rejects | grep . || echo '(null)')" ;;
*"volume set v auth.reject "*) printf '%s' "$6" >$calls.reject; echo "volume set: success" ;;
*"volume reset v auth.reject") rm -f $calls.reject ;;
*"volume status v clients")
  echo "Client connections for volume v"
  echo "----------------------------------------------"
  echo "Brick : s:/brick"
  echo "Clients connected : 2"
  echo "Hostname                                               BytesRead    BytesWritten       OpVersion"
  for ip in 10.0.0.1 10.0.0.11; do
    if [ -e $calls.keeps ] || ! rejects | tr , '\n' | grep -qxF $ip; then
      echo "$ip:49151                                    1048         1308              100000"
    fi
  done ;;
*) exit 1 ;;
esac`

func touch(t *testing.T, path string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte("1"), 0o600))
}

func TestGlusterTurnsTheHostAway(t *testing.T) {
	program, calls := tool(t, fakeGluster)
	base := []string{"volume=v", "nodename=h1", "address=10.0.0.1", "gluster=" + program}
	does(t, gluster, append(base, "action=status")...)
	does(t, gluster, append(base, "action=off")...)
	require.Equal(t, []string{"10.0.0.1"}, lines(calls+".reject"))
	exit, said := run(t, gluster, append(base, "action=status")...)
	require.Equal(t, 2, exit, said)
	does(t, gluster, append(base, "action=off", "address=10.0.0.11")...)
	require.Equal(t, []string{"10.0.0.1,10.0.0.11"}, lines(calls+".reject"), "who was turned away stays so")
	refuses(t, "client_gone=yes is missing", gluster, append(base, "action=on")...)
	does(t, gluster, append(base, "action=on", "client_gone=yes")...)
	require.Equal(t, []string{"10.0.0.11"}, lines(calls+".reject"))
	does(t, gluster, append(base, "action=on", "client_gone=yes", "address=10.0.0.11")...)
	require.NoFileExists(t, calls+".reject")
}

// A host that has several addresses is cut off by none of them alone: its client may have come by the other.
func TestGlusterTurnsAllAddressesOfTheHostAway(t *testing.T) {
	program, calls := tool(t, fakeGluster)
	bin := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(bin, "getent"), []byte("#!/bin/sh\n[ \"$*\" = 'ahosts h1' ] || exit 2\n"+
		"for ip in fd00::1 10.0.0.1; do for kind in STREAM DGRAM RAW; do echo \"$ip $kind\"; done; done\n"), 0o755))
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	base := []string{"volume=v", "nodename=h1", "gluster=" + program}
	touch(t, calls+".keeps")
	refuses(t, "still has 1 connections", gluster, append(base, "wait=1")...)
	require.NoError(t, os.Remove(calls+".keeps"))
	does(t, gluster, base...)
	require.Equal(t, []string{"10.0.0.1,fd00::1"}, lines(calls+".reject"))
	does(t, gluster, append(base, "address=10.0.0.1,10.0.0.11")...)
	require.Equal(t, []string{"10.0.0.1,10.0.0.11,fd00::1"}, lines(calls+".reject"))
	exit, said := run(t, gluster, append(base, "action=status")...)
	require.Equal(t, 2, exit, said)
	does(t, gluster, append(base, "action=on", "client_gone=yes")...)
	require.Equal(t, []string{"10.0.0.11"}, lines(calls+".reject"))
	does(t, gluster, append(base, "action=status")...)
}

// An address of IPv6 is the same in each spelling: what is asked for, what is turned away already, and what is connected.
func TestGlusterKnowsEachSpellingOfAnAddress(t *testing.T) {
	program, calls := tool(t, strings.Replace(fakeGluster, "for ip in 10.0.0.1 10.0.0.11", "for ip in fd00::1 ::ffff:10.0.0.7", 1))
	base := []string{"volume=v", "nodename=h1", "gluster=" + program}
	for spelled, as := range map[string]string{
		"FD00:0:0::0001":                          "fd00::1",
		"fd00:0:0:0:0:0:0:1":                      "fd00::1",
		"::FFFF:a00:7":                            "::ffff:10.0.0.7",
		"2001:db8:0:0:1:0:0:1":                    "2001:db8::1:0:0:1",
		"2001:0db8:0000:1:1:1:1:1":                "2001:db8:0:1:1:1:1:1",
		"fe80:0:0:1::":                            "fe80:0:0:1::",
		"0:0:0:0:0:0:0:1":                         "::1",
		"::":                                      "::",
		"64:ff9b::192.0.2.33":                     "64:ff9b::c000:221",
		"::ffff:10.0.0.7,::FFFF:A00:7":            "::ffff:10.0.0.7",
		"ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffF": "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
	} {
		require.Equal(t, as, cmp.Or(canonical(spelled), as), "the test itself")
		does(t, gluster, append(base, "address="+spelled)...)
		require.Equal(t, []string{as}, lines(calls+".reject"), spelled)
		exit, said := run(t, gluster, append(base, "action=status", "address="+as)...)
		require.Equal(t, 2, exit, said)
		does(t, gluster, append(base, "action=on", "client_gone=yes", "address="+spelled)...)
		require.NoFileExists(t, calls+".reject", spelled)
	}
	require.NoError(t, os.WriteFile(calls+".reject", []byte("FD00:0::1"), 0o600)) // by hand
	exit, said := run(t, gluster, append(base, "action=status", "address=fd00::1")...)
	require.Equal(t, 2, exit, said)
	touch(t, calls+".keeps")
	refuses(t, "fd00::1 still has 1 connections", gluster, append(base, "wait=1", "address=fd00:0::1")...)
	for _, none := range []string{"1::2::3", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "12345::1", ":::", "10.0.0.256", "10.0.0.010", "10.0.0", "fd00::1:10.0.0"} {
		refuses(t, "address "+none+" is none", gluster, append(base, "address="+none)...)
	}
}

// canonical is the spelling of an address of IPv6 by another hand; "" for several, and for what Go prints otherwise.
func canonical(s string) string {
	a, err := netip.ParseAddr(s)
	if err != nil {
		return ""
	}
	return a.String()
}

func TestGlusterAgentRefusesWhatProvesNothing(t *testing.T) {
	program, calls := tool(t, fakeGluster)
	base := []string{"volume=v", "nodename=h1", "address=10.0.0.1", "gluster=" + program}
	refuses(t, "volume=NAME is missing", gluster, append(base, "volume=")...)
	refuses(t, "volume=NAME is missing", gluster, append(base, "volume=-x")...)
	refuses(t, "address $(x) is none", gluster, append(base, "address=$(x)")...)
	refuses(t, "address 10.0.0.1,,10.0.0.2 is none", gluster, append(base, "address=10.0.0.1,,10.0.0.2")...)
	refuses(t, "has no address here", gluster, append(base, "address=", "nodename=no-such-host.invalid")...)
	refuses(t, "cannot be read", gluster, append(base, "volume=w")...)
	refuses(t, "is not one of", gluster, append(base, "action=reboot")...)
	touch(t, calls+".keeps")
	refuses(t, "10.0.0.1 still has 1 connections", gluster, append(base, "wait=1")...)
	touch(t, calls+".down")
	refuses(t, "cannot be read", gluster, base...)
}
