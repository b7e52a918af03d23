package gate

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/lease"
)

func TestDecide(t *testing.T) {
	held := facts{enforce: Enforcing, mode: Exclusive, onFree: AcquireOnFree, open: true, known: true}
	free := facts{enforce: Enforcing, mode: Exclusive, onFree: AcquireOnFree, known: true}
	with := func(f facts, change func(*facts)) facts { change(&f); return f }
	for _, c := range []struct {
		name string
		f    facts
		act  action
		why  Reason
	}{
		{"member", with(held, func(f *facts) { f.member = true }), pass, ReasonNone},
		{"stranger", held, refuse, ReasonHeldByOther},
		{"unseen", with(held, func(f *facts) { f.known = false }), refuse, ReasonNobody},
		{"revoked stranger", with(held, func(f *facts) { f.revoked = ReasonRevokedExpired }), refuse, ReasonRevokedExpired},
		{"revoked member on purpose", with(held, func(f *facts) { f.member, f.revoked = true, ReasonRevokedExpired }), pass, ReasonNone},
		{"revoked member of an automatic lease", with(held, func(f *facts) { f.member, f.auto, f.revoked = true, true, ReasonRevokedExpired }), refuse, ReasonRevokedExpired},
		{"member after the deadline", with(held, func(f *facts) { f.open, f.over, f.member = false, true, true }), refuse, ReasonExpired},
		{"stranger after the deadline", with(held, func(f *facts) { f.open, f.over = false, true }), refuse, ReasonHeldByOther},
		{"readonly", with(held, func(f *facts) { f.member, f.enforce = true, ReadOnly }), refuse, ReasonReadOnly},
		{"shared", with(free, func(f *facts) { f.mode = Shared }), passFree, ReasonNone},
		{"free", free, acquire, ReasonNone},
		{"free, to be taken over", with(free, func(f *facts) { f.head = lease.Stealable }), acquire, ReasonNone},
		{"free, unseen", with(free, func(f *facts) { f.known = false }), refuse, ReasonNobody},
		{"free, deny", with(free, func(f *facts) { f.onFree = DenyOnFree }), refuse, ReasonFree},
		{"free, allow", with(free, func(f *facts) { f.onFree = AllowOnFree }), passFree, ReasonNone},
		{"free, allow, unseen", with(free, func(f *facts) { f.onFree, f.known = AllowOnFree, false }), passFree, ReasonNone},
		{"run out, allow", with(free, func(f *facts) { f.onFree, f.head = AllowOnFree, lease.Stealable }), refuse, ReasonFree},
		{"held elsewhere", with(free, func(f *facts) { f.head = lease.Held }), refuse, ReasonHeldElsewhere},
		{"held elsewhere, allow", with(free, func(f *facts) { f.head, f.onFree = lease.Held, AllowOnFree }), refuse, ReasonHeldElsewhere},
		{"expired elsewhere", with(free, func(f *facts) { f.head = lease.Expired }), refuse, ReasonHeldElsewhere},
		{"unreadable", with(free, func(f *facts) { f.head = lease.Unreadable }), refuse, ReasonUnreadable},
		{"skewed", with(free, func(f *facts) { f.head = lease.Skewed }), refuse, ReasonSkewed},
		{"revoked, free", with(free, func(f *facts) { f.revoked = ReasonRevokedStolen }), refuse, ReasonRevokedStolen},
		{"closing", with(free, func(f *facts) { f.closing = true }), refuse, ReasonClosing},
		{"renewal failed", with(free, func(f *facts) { f.failed = true }), refuse, ReasonRenewFailed},
	} {
		t.Run(c.name, func(t *testing.T) {
			act, why := decide(c.f)
			require.Equal(t, c.act, act)
			require.Equal(t, c.why, why)
		})
	}
}
