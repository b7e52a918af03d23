package gate

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

const (
	eventually = time.Minute // only what hangs takes so long
	tick       = time.Millisecond
)

func benchGuard(b *testing.B, pid int) (*Guard, Epoch) {
	c := lease.SystemClock()
	r := NewResolver(c)
	b.Cleanup(r.Close)
	g := NewGuard(GuardConfig{Worktree: "main", Mode: Exclusive, OnFree: DenyOnFree, Clock: c, Resolver: r})
	g.Bind(&keeper{})
	h, err := r.HolderFor(pid, ScopeTree, "")
	if err != nil {
		b.Fatal(err)
	}
	g.Open(lease.Grant{Token: 1, Holder: h, Deadline: c.Boot() + time.Hour})
	return g, EpochOf(1)
}

// BenchmarkEnterHandle is the check on a write: no I/O, no allocation.
func BenchmarkEnterHandle(b *testing.B) {
	g, e := benchGuard(b, os.Getpid())
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if p, no := g.Enter(Request{Op: OpWrite, Epoch: e}); no == nil {
				p.End()
			}
		}
	})
}

// BenchmarkRefuseHandle is the check on a write through a stale handle.
func BenchmarkRefuseHandle(b *testing.B) {
	g, _ := benchGuard(b, os.Getpid())
	b.ReportAllocs()
	for b.Loop() {
		if _, no := g.Enter(Request{Op: OpWrite, Epoch: EpochOf(99)}); no == nil {
			b.Fatal("let through")
		}
	}
}

// BenchmarkEnterWriter is the check on a path operation by a known process.
func BenchmarkEnterWriter(b *testing.B) {
	g, _ := benchGuard(b, os.Getpid())
	b.ReportAllocs()
	for b.Loop() {
		p, no := g.Enter(Request{Op: OpMkdir, Caller: process.Caller{TID: uint32(os.Getpid())}})
		if no != nil {
			b.Fatal(no)
		}
		p.End()
	}
}

// BenchmarkEnterHandleAmongMany shows that the check does not get slower with more worktrees, open
// handles, and writers that are refused meanwhile.
func BenchmarkEnterHandleAmongMany(b *testing.B) {
	for _, many := range []int{1, 100, 10000} {
		b.Run("worktrees="+strconv.Itoa(many), func(b *testing.B) {
			g, e := benchGuard(b, os.Getpid())
			for range many - 1 {
				benchGuard(b, os.Getpid())
			}
			enterAndLeave(b, g, e)
		})
		b.Run("handles="+strconv.Itoa(many), func(b *testing.B) {
			g, e := benchGuard(b, os.Getpid())
			for range many {
				g.HandleOpened(e)
			}
			enterAndLeave(b, g, e)
		})
		b.Run("revoked="+strconv.Itoa(many), func(b *testing.B) {
			g, e := benchGuard(b, os.Getpid())
			for i := range many {
				g.revoked.add(revocation{holder: lease.Holder{PID: i + 1, Scope: string(ScopeTree)}, why: reasonRevokedExpired})
			}
			enterAndLeave(b, g, e)
		})
	}
}

func enterAndLeave(b *testing.B, g *Guard, e Epoch) {
	b.ReportAllocs()
	for b.Loop() {
		if p, no := g.Enter(Request{Op: OpWrite, Epoch: e}); no == nil {
			p.End()
		}
	}
}
