package gate

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/lease"
)

func TestEveryCombinationOfFactsIsDecidedByTheTable(t *testing.T) {
	held := facts{enforce: Enforcing, mode: Exclusive, onFree: AcquireOnFree, open: true, known: true}
	free := facts{enforce: Enforcing, mode: Exclusive, onFree: AcquireOnFree, known: true}
	with := func(f facts, change func(*facts)) facts { change(&f); return f }
	for _, c := range []struct {
		name string
		f    facts
		act  action
		why  Reason
	}{
		{"member", with(held, func(f *facts) { f.member = true }), pass, reasonNone},
		{"stranger", held, refuse, ReasonHeldByOther},
		{"unseen", with(held, func(f *facts) { f.known = false }), refuse, reasonNobody},
		{"revoked stranger", with(held, func(f *facts) { f.revoked = reasonRevokedExpired }), refuse, reasonRevokedExpired},
		{"revoked member on purpose", with(held, func(f *facts) { f.member, f.revoked = true, reasonRevokedExpired }), pass, reasonNone},
		{"revoked member of an automatic lease", with(held, func(f *facts) { f.member, f.auto, f.revoked = true, true, reasonRevokedExpired }), refuse, reasonRevokedExpired},
		{"member after the deadline", with(held, func(f *facts) { f.open, f.over, f.member = false, true, true }), refuse, reasonExpired},
		{"stranger after the deadline", with(held, func(f *facts) { f.open, f.over = false, true }), refuse, ReasonHeldByOther},
		{"readonly", with(held, func(f *facts) { f.member, f.enforce = true, ReadOnly }), refuse, ReasonReadOnly},
		{"shared", with(free, func(f *facts) { f.mode = Shared }), passFree, reasonNone},
		{"free", free, acquire, reasonNone},
		{"free, to be taken over", with(free, func(f *facts) { f.head = lease.Stealable }), acquire, reasonNone},
		{"free, unseen", with(free, func(f *facts) { f.known = false }), refuse, reasonNobody},
		{"free, deny", with(free, func(f *facts) { f.onFree = DenyOnFree }), refuse, ReasonFree},
		{"free, allow", with(free, func(f *facts) { f.onFree = AllowOnFree }), passFree, reasonNone},
		{"free, allow, unseen", with(free, func(f *facts) { f.onFree, f.known = AllowOnFree, false }), passFree, reasonNone},
		{"run out, allow", with(free, func(f *facts) { f.onFree, f.head = AllowOnFree, lease.Stealable }), refuse, ReasonFree},
		{"held elsewhere", with(free, func(f *facts) { f.head = lease.Held }), refuse, reasonHeldElsewhere},
		{"held elsewhere, allow", with(free, func(f *facts) { f.head, f.onFree = lease.Held, AllowOnFree }), refuse, reasonHeldElsewhere},
		{"expired elsewhere", with(free, func(f *facts) { f.head = lease.Expired }), refuse, reasonHeldElsewhere},
		{"unreadable", with(free, func(f *facts) { f.head = lease.Unreadable }), refuse, reasonUnreadable},
		{"skewed", with(free, func(f *facts) { f.head = lease.Skewed }), refuse, reasonSkewed},
		{"revoked, free", with(free, func(f *facts) { f.revoked = reasonRevokedStolen }), refuse, reasonRevokedStolen},
		{"closing", with(free, func(f *facts) { f.closing = true }), refuse, reasonClosing},
		{"renewal failed", with(free, func(f *facts) { f.failed = true }), refuse, reasonRenewFailed},
	} {
		t.Run(c.name, func(t *testing.T) {
			act, why := decide(c.f)
			require.Equal(t, c.act, act)
			require.Equal(t, c.why, why)
		})
	}
}
