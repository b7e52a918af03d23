package metrics

import (
	"compress/gzip"
	"fmt"
	"io"
	"log"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Source makes the metrics of a scrape.
type Source interface{ Gather() ([]*Family, error) }

// Handler answers scrapes: so many at a time, each within a time. name[] in the query names those that are wanted.
func Handler(from Source, errs *log.Logger, most int, timeout time.Duration) http.Handler {
	running := make(chan struct{}, most)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case running <- struct{}{}:
			defer func() { <-running }()
		default:
			http.Error(w, fmt.Sprintf("Limit of concurrent requests reached (%d), try again later.", most), http.StatusServiceUnavailable)
			return
		}
		all, err := from.Gather()
		if err != nil {
			errs.Println("error gathering metrics:", err)
			http.Error(w, "An error has occurred while serving metrics:\n\n"+err.Error(), http.StatusInternalServerError)
			return
		}
		if wanted := r.URL.Query()["name[]"]; len(wanted) > 0 {
			all = slices.DeleteFunc(all, func(f *Family) bool { return !slices.Contains(wanted, f.Name) })
		}
		if err := send(w, r, Text(all)); err != nil {
			errs.Println("error encoding and sending metric family:", err)
		}
	})
	return http.TimeoutHandler(h, timeout, fmt.Sprintf("Exceeded configured timeout of %v.\n", timeout))
}

// send writes the text, compressed for who takes that.
func send(w http.ResponseWriter, r *http.Request, text string) error {
	head := w.Header()
	head.Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8; escaping=underscores")
	head.Set("Vary", "Accept-Encoding")
	if !takesGzip(r.Header.Get("Accept-Encoding")) {
		_, err := io.WriteString(w, text)
		return err
	}
	head.Set("Content-Encoding", "gzip")
	to := gzip.NewWriter(w)
	if _, err := io.WriteString(to, text); err != nil {
		return err
	}
	return to.Close()
}

// takesGzip reads Accept-Encoding as far as it is about gzip: named, and not with a weight of nothing.
func takesGzip(accepts string) bool {
	for one := range strings.SplitSeq(accepts, ",") {
		name, weight, _ := strings.Cut(strings.ReplaceAll(one, " ", ""), ";")
		if strings.EqualFold(name, "gzip") {
			return strings.Trim(strings.TrimPrefix(weight, "q="), "0.") != "" || weight == ""
		}
	}
	return false
}
