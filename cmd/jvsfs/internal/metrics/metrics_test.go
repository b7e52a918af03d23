package metrics

import (
	"compress/gzip"
	"errors"
	"io"
	"log"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/testkit"
)

var (
	plain   = &Desc{Name: "jvsfs_plain", Help: "A back\\slash and a\nline."}
	labeled = &Desc{Name: "jvsfs_labeled_total", Help: "With labels.", Labels: []string{"worktree", "kind"}}
	spread  = &Desc{Name: "jvsfs_spread_seconds", Help: "Buckets.", Labels: []string{"op"}}
)

func sample() *Set {
	var s Set
	s.Histogram(spread, 10, 1.25, map[float64]uint64{0.5: 7, 1.024e-06: 3, 1e21: 9}, "write")
	s.Histogram(spread, 0, 0, nil, "read")
	s.Counter(labeled, 1<<40, "b", `quo"te, back\slash, brace}`)
	s.Counter(labeled, 3, "a", "two\nlines = é")
	s.Counter(labeled, 3, "a", "")
	s.Gauge(plain, -0.1)
	return &s
}

const written = `# HELP jvsfs_labeled_total With labels.
# TYPE jvsfs_labeled_total counter
jvsfs_labeled_total{kind="",worktree="a"} 3
jvsfs_labeled_total{kind="quo\"te, back\\slash, brace}",worktree="b"} 1.099511627776e+12
jvsfs_labeled_total{kind="two\nlines = é",worktree="a"} 3
# HELP jvsfs_plain A back\\slash and a\nline.
# TYPE jvsfs_plain gauge
jvsfs_plain -0.1
# HELP jvsfs_spread_seconds Buckets.
# TYPE jvsfs_spread_seconds histogram
jvsfs_spread_seconds_bucket{op="read",le="+Inf"} 0
jvsfs_spread_seconds_sum{op="read"} 0
jvsfs_spread_seconds_count{op="read"} 0
jvsfs_spread_seconds_bucket{op="write",le="1.024e-06"} 3
jvsfs_spread_seconds_bucket{op="write",le="0.5"} 7
jvsfs_spread_seconds_bucket{op="write",le="1e+21"} 9
jvsfs_spread_seconds_bucket{op="write",le="+Inf"} 10
jvsfs_spread_seconds_sum{op="write"} 1.25
jvsfs_spread_seconds_count{op="write"} 10
`

// What is written is what Prometheus' library would write, and is read here as it was.
func TestTheTextIsThatOfPrometheus(t *testing.T) {
	all, err := sample().All()
	require.NoError(t, err)
	text := Text(all)
	require.Equal(t, written, text)
	testkit.Prometheus(t, text)
	read, err := Parse(text)
	require.NoError(t, err)
	require.Len(t, read, len(all))
	for _, f := range all {
		require.Equal(t, Text([]*Family{f}), Text([]*Family{read[f.Name]}))
	}
	var numbers Set
	for _, v := range []float64{0, 1, -1, 1e-7, 123456789, 1.5e300, math.Inf(1), math.Inf(-1)} {
		numbers.Gauge(&Desc{Name: "n", Help: "n", Labels: []string{"v"}}, v, number(v))
	}
	all, err = numbers.All()
	require.NoError(t, err)
	testkit.Prometheus(t, Text(all))
}

// A scrape with a series twice would count one of them.
func TestASeriesIsThereOnce(t *testing.T) {
	s := sample()
	s.Counter(labeled, 4, "a", "")
	_, err := s.All()
	require.ErrorContains(t, err, "twice")
	require.Panics(t, func() { s.Counter(labeled, 4, "a") })
	s = sample()
	s.Counter(labeled, 4, "a", "\xff")
	all, err := s.All()
	require.NoError(t, err)
	testkit.Prometheus(t, Text(all))
}

// Whatever a daemon of somebody else says, it is read whole or not at all.
func TestATextThatNobodyWouldWriteIsAnError(t *testing.T) {
	const typed = "# TYPE a gauge\n"
	for _, text := range []string{
		"a 1", "nonsense{", typed + "a", typed + "a one", typed + "a1", typed + "a 1 1700000000000", typed + "a{} 1", typed + `a{b} 1`, typed + `a{b="c} 1`,
		typed + `a{b="c"; 1`, typed + `a{b="c",} 1`, typed + `a{b="c",b="d"} 1`, typed + `a{__name__="c"} 1`, typed + `a{b="\t"} 1`, typed + `a{b="c\`, typed + `a{1="c"} 1`,
		typed + "a{b=\"\xff\"} 1", typed + typed, "# TYPE a summary\na 1", "# TYPE a\n", "# TYPE {} gauge", typed + `a{b="c"}1`,
		"# TYPE a histogram\na 1", "# TYPE a histogram\na_bucket{} 1", "# TYPE a histogram\na_bucket{b=\"c\"} 1",
	} {
		_, err := Parse(text)
		require.Error(t, err, text)
	}
	for _, text := range []string{"", "\n", "# a comment\n", "#\n", "# HELP a nothing follows\n", typed} {
		read, err := Parse(text)
		if text == "#\n" {
			require.Error(t, err)
			continue
		}
		require.NoError(t, err, text)
		require.Empty(t, read, text)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(written)
	f.Add("# TYPE a histogram\na_bucket{le=\"1\"} 1\na_count 1\n")
	f.Fuzz(func(t *testing.T, text string) {
		read, err := Parse(text)
		if err != nil {
			return
		}
		for name, family := range read {
			again, err := Parse(Text([]*Family{family}))
			require.NoError(t, err)
			require.Equal(t, Text([]*Family{family}), Text([]*Family{again[name]}))
		}
	})
}

type source func() ([]*Family, error)

func (s source) Gather() ([]*Family, error) { return s() }

func scrape(t *testing.T, h http.Handler, target, encoding string) (*httptest.ResponseRecorder, string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
	r.Header.Set("Accept-Encoding", encoding)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	var body io.Reader = w.Body
	if w.Header().Get("Content-Encoding") == "gzip" {
		var err error
		body, err = gzip.NewReader(body)
		require.NoError(t, err)
	}
	text, err := io.ReadAll(body)
	require.NoError(t, err)
	return w, string(text)
}

func TestScrapesAreAnswered(t *testing.T) {
	h := Handler(source(func() ([]*Family, error) { return sample().All() }), log.New(io.Discard, "", 0), 1, time.Minute)
	for encoding, zipped := range map[string]bool{"": false, "identity": false, "gzip": true, "zstd;q=1.0, GZIP;q=0.5": true, "gzip;q=0": false, "gzip; q=0.0": false, "br": false} {
		resp, text := scrape(t, h, "/metrics", encoding)
		require.Equal(t, http.StatusOK, resp.Code)
		require.Equal(t, "text/plain; version=0.0.4; charset=utf-8; escaping=underscores", resp.Header().Get("Content-Type"))
		require.Equal(t, zipped, resp.Header().Get("Content-Encoding") == "gzip", encoding)
		require.Equal(t, written, text)
	}
	_, text := scrape(t, h, "/metrics?name[]=jvsfs_plain&name[]=other", "")
	require.True(t, strings.HasPrefix(text, "# HELP jvsfs_plain ") && strings.HasSuffix(text, "jvsfs_plain -0.1\n"), text)
}

// A scrape that fails says why. More than so many at a time are turned away, and none lasts longer than it may.
func TestScrapesAreBounded(t *testing.T) {
	var logged strings.Builder
	h := Handler(source(func() ([]*Family, error) { return nil, errors.New("broken") }), log.New(&logged, "", 0), 1, time.Minute)
	resp, text := scrape(t, h, "/metrics", "gzip")
	require.Equal(t, http.StatusInternalServerError, resp.Code)
	require.Equal(t, "An error has occurred while serving metrics:\n\nbroken\n", text)
	require.Equal(t, "error gathering metrics: broken\n", logged.String())

	begun, goOn := make(chan struct{}), make(chan struct{})
	slow := source(func() ([]*Family, error) { begun <- struct{}{}; <-goOn; return nil, nil })
	h = Handler(slow, log.New(io.Discard, "", 0), 1, time.Minute)
	first := make(chan int)
	go func() {
		resp, _ := scrape(t, h, "/metrics", "")
		first <- resp.Code
	}()
	<-begun
	resp, text = scrape(t, h, "/metrics", "")
	require.Equal(t, http.StatusServiceUnavailable, resp.Code)
	require.Equal(t, "Limit of concurrent requests reached (1), try again later.\n", text)
	goOn <- struct{}{}
	require.Equal(t, http.StatusOK, <-first)

	h = Handler(slow, log.New(io.Discard, "", 0), 1, time.Millisecond)
	ended := make(chan struct{})
	go func() { defer close(ended); <-begun }()
	resp, text = scrape(t, h, "/metrics", "")
	require.Equal(t, http.StatusServiceUnavailable, resp.Code)
	require.Equal(t, "Exceeded configured timeout of 1ms.\n", text)
	<-ended
	goOn <- struct{}{}
}
