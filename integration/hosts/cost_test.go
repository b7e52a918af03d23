//go:build jvsfs_hosts

package hosts

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// costRounds is how often each work is done on each side. The median counts.
const costRounds = 5

// works are what is measured: lines of shell that work in an empty directory. $T has what prepareWorks has made.
var works = []struct{ name, line string }{
	{"100 writes of 4 KiB", "dd if=/dev/zero of=f bs=4k count=100 status=none"},
	{"8 writers, 50 each", "for w in 1 2 3 4 5 6 7 8; do dd if=/dev/zero of=f$w bs=4k count=50 status=none & done; wait"},
	{"100 files, created", "i=0; while [ $i -lt 100 ]; do : >f$i; i=$((i+1)); done"},
	{"git clone", "git -c user.name=a -c user.email=b@c clone -q --no-local $T/repo clone"},
	{"untar", "tar xf $T/files.tar"},
	{"build", "cp $T/src/* . && make -s"},
}

// prepareWorks makes a repository, an archive and a small program in C, all in memory.
const prepareWorks = `set -e; export HOME=$T; mkdir -p $T/repo $T/files $T/src; cd $T
i=0; while [ $i -lt 200 ]; do mkdir -p files/d$((i%20)); head -c $((i*53%12000+200)) /dev/urandom | base64 >files/d$((i%20))/f$i; i=$((i+1)); done
tar cf files.tar files; cp -r files repo; cd repo; git init -q .; git add .; git -c user.name=a -c user.email=b commit -qm first
cd $T/src; printf 'OBJ = ' >Makefile
i=0; while [ $i -lt 8 ]; do printf '#include <stdio.h>\nint f%s(int x) { return printf("%%d", x + %s); }\n' $i $i >s$i.c; printf 's%s.o ' $i >>Makefile; i=$((i+1)); done
echo 'int main(void) { return 0; }' >main.c
printf 'main.o\nall: prog\nprog: $(OBJ)\n\tcc -o prog $(OBJ)\n' >>Makefile`

// relied is a second mount on the same client, with rely_on_fence. Nobody takes its leases over, so its agent need not work.
const (
	reliedSource = storeDir + "/relied"
	reliedView   = "/mnt/relied"
)

func (c *cluster) mountRelied(h *host, p times) {
	c.t.Helper()
	require.NoError(c.t, os.WriteFile(h.File("relied.yaml"), []byte("fence: [/bin/true]\nrely_on_fence: true\n"), 0o644))
	h.Must("mkdir", "-p", reliedSource, reliedView)
	h.Must(append([]string{c.bin, "mount", reliedSource, reliedView, "--config", h.File("relied.yaml"), "--control", storeDir + "/relied-control",
		"--log-file", h.File("relied.log")}, p.args()...)...)
}

// What jvsfs costs on the store: the same works on the bare client of it, through jvsfs, and through jvsfs that relies on a fence agent, in
// turn, with the requests that the client gets.
func TestCost(t *testing.T) {
	if os.Getenv("JVSFS_HOSTS_COST") == "" {
		t.Skip("it measures: scripts/hosts-test.sh --engine NAME --cost")
	}
	c := newCluster(t)
	h := c.join("h1")
	calm := times{lease: 30 * time.Second, renew: 10 * time.Second, skew: 2 * time.Second, grace: time.Second}
	c.mount(h, calm)
	c.mountRelied(h, calm)
	tmp := "/mnt/works"
	h.Sh("T=" + tmp + "; " + prepareWorks)
	requests := newTrace(t, h)
	t.Logf("%-22s %10s %10s %6s %10s %6s   %s", c.engine.title(), "bare", "jvsfs", "ratio", "relying", "ratio", "requests to the client of the store: bare, jvsfs, relying")
	for n, w := range works {
		var took [3][]time.Duration
		var asked [3]map[string]int
		for round := range costRounds {
			for side, dir := range []string{storeDir, viewDir, reliedView} {
				at := fmt.Sprintf("%s/%d-%d-%d", dir, n, round, side)
				line := fmt.Sprintf("set -e; export T=%s HOME=%[1]s; mkdir %s; cd %[2]s; a=$(date +%%s%%N); { %s; }; b=$(date +%%s%%N); echo; echo took $((b-a))", tmp, at, w.line)
				run := []string{"sh", "-c", line}
				if side > 0 {
					run = []string{c.bin, "exec", dir, "--", "sh", "-c", line}
				}
				requests.clear()
				said := h.Must(run...)
				took[side] = append(took[side], tookOf(t, said))
				asked[side] = requests.counts()
			}
		}
		bare, through, relying := median(took[0]), median(took[1]), median(took[2])
		t.Logf("%-22s %8.1fms %8.1fms %6.2f %8.1fms %6.2f   %s | %s | %s", w.name, ms(bare), ms(through), float64(through)/float64(bare),
			ms(relying), float64(relying)/float64(bare), kinds(asked[0]), kinds(asked[1]), kinds(asked[2]))
	}
	h.Must(c.bin, "umount", reliedView)
	c.umount(h)
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

func tookOf(t *testing.T, said string) time.Duration {
	t.Helper()
	_, last, _ := strings.Cut(said, "\ntook ")
	n, err := strconv.ParseInt(strings.TrimSpace(last), 10, 64)
	require.NoError(t, err, said)
	return time.Duration(n)
}

// kinds are the counts, the most first, and their sum.
func kinds(asked map[string]int) string {
	all, sum := []string{}, 0
	for k, n := range asked {
		all, sum = append(all, k), sum+n
	}
	slices.SortFunc(all, func(a, b string) int { return asked[b] - asked[a] })
	text := strconv.Itoa(sum)
	for _, k := range all[:min(len(all), 12)] {
		text += fmt.Sprintf(" %s:%d", strings.ToLower(k), asked[k])
	}
	return text
}

// trace counts the requests of the kernel to one FUSE connection, by a tracepoint of Linux 6.10 and later, in an instance of its own.
type trace struct {
	t          *testing.T
	dir        string
	connection string
}

func newTrace(t *testing.T, h *host) *trace {
	t.Helper()
	const tracefs = "/sys/kernel/tracing"
	if _, err := os.Stat(tracefs + "/instances"); err != nil {
		out, err := exec.Command("mount", "-t", "tracefs", "tracefs", tracefs).CombinedOutput()
		require.NoError(t, err, "%s", out)
		t.Cleanup(func() { require.NoError(t, unix.Unmount(tracefs, 0)) })
	}
	x := &trace{t, fmt.Sprintf("%s/instances/jvsfs-%d", tracefs, os.Getpid()), strings.TrimSpace(h.Sh("stat -c %d " + storeDir))}
	require.NoError(t, os.Mkdir(x.dir, 0o755))
	t.Cleanup(func() { require.NoError(t, unix.Rmdir(x.dir)) })
	x.set("buffer_size_kb", "16384")
	x.set("events/fuse/fuse_request_send/filter", "connection == "+x.connection)
	x.set("events/fuse/fuse_request_send/enable", "1")
	return x
}

func (x *trace) set(file, text string) {
	x.t.Helper()
	require.NoError(x.t, os.WriteFile(filepath.Join(x.dir, file), []byte(text), 0o644))
}

func (x *trace) clear() { x.t.Helper(); x.set("trace", "") }

var requestLine = regexp.MustCompile(`connection \d+ req \d+ opcode \d+ \(FUSE_(\w+)\)`)

func (x *trace) counts() map[string]int {
	x.t.Helper()
	text, err := os.ReadFile(filepath.Join(x.dir, "trace"))
	require.NoError(x.t, err)
	require.NotContains(x.t, string(text[:min(len(text), 200)]), "LOST")
	asked := map[string]int{}
	for _, m := range requestLine.FindAllSubmatch(text, -1) {
		asked[string(m[1])]++
	}
	return asked
}
