package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// hostile does to the records what a user can do who may write to their directory. Needs mu.
func (h *host) hostile() {
	if !h.does(opHostile) {
		return
	}
	if h.rng.IntN(2) == 0 {
		h.litter()
		return
	}
	h.forge()
}

// litter puts things that no daemon made beside the records. None of them may matter to anybody.
func (h *host) litter() {
	all := h.places()
	id := all[h.rng.IntN(len(all))].ID
	suffixes := []string{".lock.tmp.evil", ".lock.lock", ".tmp.0", ".gate.evil", ".turn.tmp.evil", "-evil.lock", ".lock.tmp", ".evil.claim.00000000000000000001"}
	if !h.Repo {
		suffixes = suffixes[:len(suffixes)-1] // the only worktree has no name here: its claims are all that there are
	}
	name := filepath.Join(h.locks(), id+suffixes[h.rng.IntN(len(suffixes))])
	switch h.rng.IntN(4) {
	case 0:
		_ = unix.Mkfifo(name, 0o666) // there already: all the same
	case 1:
		_ = os.Symlink(h.backing(all[0], "log"), name)
	case 2:
		_ = os.Mkdir(name, 0o777)
	default:
		if f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666); err == nil {
			_, _ = f.Write(bytes.Repeat([]byte("\n"), 1+h.rng.IntN(1<<16)))
			_ = f.Close()
		}
	}
	h.note("record", "litter", 0)
}

// forgeries are what a record may be made to say that none can. Every one of them is JSON as it should be.
var forgeries = []map[string]any{
	{"fencing_token": uint64(1 << 60)},
	{"fencing_token": uint64(3 << 62)},
	{"fencing_token": uint64(1<<64 - 1)},
	{"fencing_token": 0},
	{"lease_duration_ms": int64(1<<63 - 1), "lease_expires_at": "9999-12-31T23:59:59Z"},
	{"lease_duration_ms": -1, "renew_interval_ms": -1},
	{"max_clock_skew_ms": int64(-1 << 63), "steal_grace_ms": int64(-1 << 63)},
	{"last_renewed_at": "9999-12-31T23:59:59Z"},
	{"last_renewed_at": "0001-01-01T00:00:01Z", "lease_expires_at": "0001-01-01T00:00:02Z"},
	{"acquire_seq": uint64(1<<64 - 1), "renew_count": uint64(1<<64 - 1)},
	{"holder_id": strings.Repeat("x", 1500)},
	{"holder_id": "a:b:-1:18446744073709551616", "purpose": "\x1b[2J\x00"},
	{"holder_nonce": strings.Repeat("0", 1500)},
	{"worktree_id": "../../evil"},
}

// forge makes the head claim say what none can, until its holder renews it, or an admin puts it right. As with a torn record that
// is where the gate means something.
func (h *host) forge() {
	all := h.places()
	names, err := filepath.Glob(h.claims(all[h.rng.IntN(len(all))]))
	if err != nil || len(names) == 0 || h.Tier == "c" || h.Broken {
		return
	}
	name := slices.Max(names)
	f, err := h.damage(name)
	if err != nil {
		return
	}
	whole := make([]byte, 4096)
	n, err := f.ReadAt(whole, 0)
	forged := forgery(whole, forgeries[h.rng.IntN(len(forgeries))])
	if err != nil || n != len(whole) || forged == nil {
		h.healed(f)
		return
	}
	if _, err := f.WriteAt(forged, 0); err != nil {
		panic(err)
	}
	h.note("record", "forge", 0)
	go h.repair(f, whole, name, func(now []byte) bool { return bytes.Equal(now, forged) })
}

// forgery is a record with some other fields and the same length. It is nil if the input is no record, or if
// the result does not fit.
func forgery(whole []byte, with map[string]any) []byte {
	var r map[string]any
	d := json.NewDecoder(bytes.NewReader(whole))
	d.UseNumber()
	if bytes.IndexByte(whole, 0) >= 0 || d.Decode(&r) != nil {
		return nil
	}
	for k, v := range with {
		r[k] = v
	}
	b, err := json.Marshal(r)
	if err != nil || len(b) >= len(whole) {
		return nil
	}
	return append(b, bytes.Repeat([]byte(" "), len(whole)-len(b))...)
}
