package transport

import (
	"errors"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"golang.org/x/sys/unix"
)

// Whether requests come by io_uring, and why not.
func TestTheReasonForNoRingIsTold(t *testing.T) {
	if !canUstat {
		require.ErrorContains(t, ringFacts{}.why(), "x86-64")
		return
	}
	good := ringFacts{parameter: "Y", offered: true, queues: 2}
	for _, c := range []struct {
		change func(*ringFacts)
		why    string
	}{
		{func(*ringFacts) {}, ""},
		{func(f *ringFacts) { f.parameter, f.offered = "", false }, "6.14"},
		{func(f *ringFacts) { f.parameter, f.offered = "N", false }, "enable_uring is N"},
		{func(f *ringFacts) { f.parameter = "N" }, "enable_uring is N"}, // switched off since the kernel spoke
		{func(f *ringFacts) { f.offered = false }, "does not offer"},    // or on
		{func(f *ringFacts) { f.byUser = true }, "users"},
		{func(f *ringFacts) { f.numbers = errors.New("gaps") }, "gaps"},
		{func(f *ringFacts) { f.reached = errors.New("processor 1") }, "processor 1"},
		{func(f *ringFacts) { f.memory = errors.New("MEMLOCK") }, "MEMLOCK"},
	} {
		f := good
		c.change(&f)
		if c.why == "" {
			require.NoError(t, f.why(), "%+v", f)
			continue
		}
		require.ErrorContains(t, f.why(), c.why, "%+v", f)
	}
}

// What the kernel does not offer, auto does without and says so, and uring refuses.
func TestAutoGoesOnWithoutARing(t *testing.T) {
	for _, c := range []struct {
		way   Way
		fails bool
		lines int
	}{{WayAuto, false, 1}, {WayURing, true, 0}, {WayDev, false, 0}, {"", false, 0}} {
		core, logs := observer.New(zap.InfoLevel)
		tr := &Transport{log: zap.New(core)}
		err := tr.choose(c.way, false, &fuse.InitIn{})
		require.Equal(t, c.fails, errors.Is(err, ErrNoRing), "%s: %v", c.way, err)
		require.Len(t, logs.All(), c.lines, c.way)
		require.Equal(t, c.lines == 1, tr.State().Why != "", c.way)
		require.Equal(t, "dev", tr.State().Name)
	}
}

// Memory for rings is locked memory of who may not lock any amount.
func TestRingsNeedLockedMemory(t *testing.T) {
	enough, little := unix.Rlimit{Cur: ringPinnedMost, Max: ringPinnedMost}, unix.Rlimit{Cur: 8 << 20, Max: 8 << 20}
	require.NoError(t, enoughMemory(enough, false))
	require.NoError(t, enoughMemory(little, true))
	require.ErrorContains(t, enoughMemory(little, false), "32 MiB")
	require.ErrorContains(t, enoughMemory(little, false), "8192 KiB")
}
