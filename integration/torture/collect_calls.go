package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

var historyName = regexp.MustCompile(`^h(\d+)-p(\d+)$`)

func (h *history) collectCalls() error {
	entries, err := os.ReadDir(h.at("histories"))
	for _, e := range entries {
		m := historyName.FindStringSubmatch(e.Name())
		if m == nil {
			return fmt.Errorf("unknown file %s", e.Name())
		}
		err = errors.Join(err, h.readCalls(h.at("histories", e.Name()), number(m[1]), number(m[2])))
	}
	return err
}

// readCalls reads what a writer has written down: a line before each call, which names the worktree, and one after it.
func (h *history) readCalls(path string, host, pid int) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read from
	var last *call
	in := bufio.NewScanner(f)
	for in.Scan() {
		w := strings.Fields(in.Text())
		switch {
		case len(w) == 8 && w[0] == "I":
			last = &call{Kind: w[1][0], Host: host, PID: pid, Token: uint64(number(w[2])), Handle: number(w[3]), Seq: number(w[4]), Begin: int64(number(w[5])), Target: strings.Trim(w[7], "-")}
			t := h.treeOf(strings.Trim(w[6], "-"))
			t.Calls = append(t.Calls, last)
		case len(w) == 7 && w[0] == "O":
			h.gift(h.treeOf(strings.Trim(w[6], "-")), w[1], uint64(number(w[2])), uint64(number(w[3])))
		case len(w) == 4 && w[0] == "R" && last != nil && number(w[1]) == last.Seq:
			last.End, last.Result = int64(number(w[2])), w[3]
		default:
			return fmt.Errorf("%s: %q", path, in.Text())
		}
	}
	return in.Err()
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err) // our own files
	}
	return n
}

// event is something that was done to a host. Worktree and token are those of the mutation that it was done in, if there was one.
type event struct {
	host        int
	where, what string
	begin, end  int64
	worktree    string
	token       uint64
}

func (h *history) collectEvents() error {
	names, err := filepath.Glob(h.at("meta", "*.events"))
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		host := number(strings.TrimLeft(strings.TrimSuffix(filepath.Base(name), ".events"), "adehmnost"))
		for line := range strings.Lines(string(b)) {
			w := strings.Fields(line)
			if len(w) != 6 {
				return fmt.Errorf("%s: %q", name, line)
			}
			h.events = append(h.events, event{host, w[0], w[1], int64(number(w[2])), int64(number(w[3])), w[4], uint64(number(w[5]))})
		}
	}
	return err
}

// gift is an answer to a holder that wanted to hand its lease over.
func (h *history) gift(t *tree, op string, from, to uint64) {
	h.did[op+"_asked"]++
	if to == 0 {
		return
	}
	h.did[op]++
	if t.Given == nil {
		t.Given = map[uint64]uint64{}
	}
	t.Given[from] = to
}
