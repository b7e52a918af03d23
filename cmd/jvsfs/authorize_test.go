package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAuthorize(t *testing.T) {
	const alice, bob = 1000, 1001
	held := func(p plea) plea { p.Op, p.Held, p.HolderUID = opRelease, true, alice; return p }
	give := func(p plea) plea { p = held(p); p.Op = opHandover; return p }
	for name, c := range map[string]struct {
		plea plea
		code int
		note bool
	}{
		"acquire for own process":               {plea{Op: opAcquire, PeerUID: alice, TargetUID: alice, MayWrite: true}, 0, false},
		"acquire what one may not write":        {plea{Op: opAcquire, PeerUID: alice, TargetUID: alice}, exitError, false},
		"acquire for everybody":                 {plea{Op: opAcquire, PeerUID: alice, TargetUID: alice, MayWrite: true, Wider: true}, exitError, false},
		"acquire for another user's":            {plea{Op: opAcquire, PeerUID: alice, TargetUID: bob}, exitError, false},
		"acquire for root's":                    {plea{Op: opAcquire, PeerUID: alice, TargetUID: 0}, exitError, false},
		"steal for another user's":              {plea{Op: opSteal, PeerUID: alice, TargetUID: bob}, exitError, false},
		"root acquires for anybody":             {plea{Op: opAcquire, PeerUID: 0, TargetUID: bob}, 0, false},
		"nothing held":                          {plea{Op: opRenew, PeerUID: alice}, exitNotHeld, false},
		"nothing held, root":                    {plea{Op: opRelease, PeerUID: 0}, exitNotHeld, false},
		"holder in scope":                       {held(plea{PeerUID: alice, PeerMember: true}), 0, false},
		"same user, not in scope":               {held(plea{PeerUID: alice}), exitNotHeld, false},
		"another user in scope":                 {held(plea{PeerUID: bob, PeerMember: true}), exitNotHeld, false},
		"explicit holder, same user":            {held(plea{PeerUID: alice, Explicit: true, TargetMember: true}), 0, false},
		"explicit holder, another user":         {held(plea{PeerUID: bob, Explicit: true, TargetMember: true}), exitNotHeld, false},
		"explicit stranger, same user":          {held(plea{PeerUID: alice, Explicit: true, PeerMember: true}), exitNotHeld, false},
		"root, implicit, not in scope":          {held(plea{PeerUID: 0}), 0, true},
		"root, implicit, in scope":              {held(plea{PeerUID: 0, PeerMember: true}), 0, false},
		"root, explicit holder":                 {held(plea{PeerUID: 0, Explicit: true, TargetMember: true}), 0, false},
		"root, explicit stranger":               {held(plea{PeerUID: 0, Explicit: true}), exitNotHeld, false},
		"umount by root":                        {plea{Op: opUnmount, PeerUID: 0, MountUID: 0}, 0, false},
		"umount by the user that mounted":       {plea{Op: opUnmount, PeerUID: alice, MountUID: alice}, 0, false},
		"umount by another user":                {plea{Op: opUnmount, PeerUID: bob, MountUID: alice}, exitError, false},
		"doctor by another user":                {plea{Op: opDoctor, PeerUID: bob, MountUID: 0}, exitError, false},
		"switch by root":                        {plea{Op: opEnforce, PeerUID: 0, MountUID: 0}, 0, false},
		"switch by the user that mounted":       {plea{Op: opEnforce, PeerUID: alice, MountUID: alice}, 0, false},
		"switch by another user":                {plea{Op: opEnforce, PeerUID: bob, MountUID: alice}, exitError, false},
		"handover by the holder":                {give(plea{PeerUID: alice, PeerMember: true, TargetUID: bob, MayWrite: true}), 0, false},
		"handover to who may not write":         {give(plea{PeerUID: alice, PeerMember: true, TargetUID: bob}), exitError, false},
		"handover to everybody":                 {give(plea{PeerUID: alice, PeerMember: true, MayWrite: true, Wider: true}), exitError, false},
		"handover by a sibling":                 {give(plea{PeerUID: alice, MayWrite: true}), exitNotHeld, false},
		"handover by another user":              {give(plea{PeerUID: bob, PeerMember: true, MayWrite: true}), exitNotHeld, false},
		"handover of nothing":                   {plea{Op: opHandover, PeerUID: alice, MayWrite: true}, exitNotHeld, false},
		"handover by root":                      {give(plea{PeerUID: 0}), 0, true},
		"status by anybody":                     {plea{Op: opStatus, PeerUID: bob}, 0, false},
		"explain by anybody":                    {plea{Op: opExplain, PeerUID: bob}, 0, false},
		"nobody (overflow uid) renews anothers": {held(plea{PeerUID: 65534, PeerMember: true}), exitNotHeld, false},
	} {
		t.Run(name, func(t *testing.T) {
			note, f := authorize(c.plea)
			if c.code == 0 {
				require.Nil(t, f)
			} else {
				require.NotNil(t, f)
				require.Equal(t, c.code, f.exit())
				require.NotEmpty(t, f.Next)
			}
			require.Equal(t, c.note, note != "")
		})
	}
}
