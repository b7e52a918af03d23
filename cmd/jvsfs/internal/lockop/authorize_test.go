package lockop

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
)

func TestAuthorize(t *testing.T) {
	const alice, bob = 1000, 1001
	held := func(p Plea) Plea { p.Who, p.Held, p.HolderUID = HolderOfIt, true, alice; return p }
	give := func(p Plea) Plea { p = held(p); p.Who = Giver; return p }
	for name, c := range map[string]struct {
		plea Plea
		code api.ExitCode
		note bool
	}{
		"acquire for own process":               {Plea{Who: Taker, PeerUID: alice, TargetUID: alice, MayWrite: true}, 0, false},
		"acquire what one may not write":        {Plea{Who: Taker, PeerUID: alice, TargetUID: alice}, api.ExitError, false},
		"acquire for everybody":                 {Plea{Who: Taker, PeerUID: alice, TargetUID: alice, MayWrite: true, Wider: true}, api.ExitError, false},
		"acquire for another user's":            {Plea{Who: Taker, PeerUID: alice, TargetUID: bob}, api.ExitError, false},
		"acquire for root's":                    {Plea{Who: Taker, PeerUID: alice, TargetUID: 0}, api.ExitError, false},
		"steal for another user's":              {Plea{Who: Taker, PeerUID: alice, TargetUID: bob}, api.ExitError, false},
		"root acquires for anybody":             {Plea{Who: Taker, PeerUID: 0, TargetUID: bob}, 0, false},
		"nothing held":                          {Plea{Who: HolderOfIt, PeerUID: alice}, api.ExitNotHeld, false},
		"nothing held, root":                    {Plea{Who: HolderOfIt, PeerUID: 0}, api.ExitNotHeld, false},
		"holder in scope":                       {held(Plea{PeerUID: alice, PeerMember: true}), 0, false},
		"same user, not in scope":               {held(Plea{PeerUID: alice}), api.ExitNotHeld, false},
		"another user in scope":                 {held(Plea{PeerUID: bob, PeerMember: true}), api.ExitNotHeld, false},
		"explicit holder, same user":            {held(Plea{PeerUID: alice, Explicit: true, TargetMember: true}), 0, false},
		"explicit holder, another user":         {held(Plea{PeerUID: bob, Explicit: true, TargetMember: true}), api.ExitNotHeld, false},
		"explicit stranger, same user":          {held(Plea{PeerUID: alice, Explicit: true, PeerMember: true}), api.ExitNotHeld, false},
		"root, implicit, not in scope":          {held(Plea{PeerUID: 0}), 0, true},
		"root, implicit, in scope":              {held(Plea{PeerUID: 0, PeerMember: true}), 0, false},
		"root, explicit holder":                 {held(Plea{PeerUID: 0, Explicit: true, TargetMember: true}), 0, false},
		"root, explicit stranger":               {held(Plea{PeerUID: 0, Explicit: true}), api.ExitNotHeld, false},
		"quiesce by root":                       {Plea{Who: Quiescer, PeerUID: 0, MountUID: bob, Held: true, HolderUID: alice}, 0, false},
		"quiesce by who mounted":                {Plea{Who: Quiescer, PeerUID: bob, MountUID: bob, Held: true, HolderUID: alice}, 0, false},
		"quiesce by the holder's user":          {Plea{Who: Quiescer, PeerUID: alice, Held: true, HolderUID: alice}, 0, false},
		"quiesce by a member":                   {Plea{Who: Quiescer, PeerUID: bob, Held: true, HolderUID: alice, PeerMember: true}, 0, false},
		"quiesce by another user":               {Plea{Who: Quiescer, PeerUID: bob, Held: true, HolderUID: alice, MayWrite: true}, api.ExitError, false},
		"quiesce what is free":                  {Plea{Who: Quiescer, PeerUID: bob, MayWrite: true}, 0, false},
		"quiesce what one may not write":        {Plea{Who: Quiescer, PeerUID: bob}, api.ExitError, false},
		"umount by root":                        {Plea{Who: Mounter, PeerUID: 0, MountUID: 0}, 0, false},
		"umount by the user that mounted":       {Plea{Who: Mounter, PeerUID: alice, MountUID: alice}, 0, false},
		"umount by another user":                {Plea{Who: Mounter, PeerUID: bob, MountUID: alice}, api.ExitError, false},
		"doctor by another user":                {Plea{Who: Mounter, PeerUID: bob, MountUID: 0}, api.ExitError, false},
		"switch by root":                        {Plea{Who: Mounter, PeerUID: 0, MountUID: 0}, 0, false},
		"switch by the user that mounted":       {Plea{Who: Mounter, PeerUID: alice, MountUID: alice}, 0, false},
		"switch by another user":                {Plea{Who: Mounter, PeerUID: bob, MountUID: alice}, api.ExitError, false},
		"a daemon is replaced by root":          {Plea{Who: Root, PeerUID: 0, MountUID: 0}, 0, false},
		"a daemon is replaced by who mounted":   {Plea{Who: Root, PeerUID: alice, MountUID: alice}, api.ExitError, false},
		"handover by the holder":                {give(Plea{PeerUID: alice, PeerMember: true, TargetUID: bob, MayWrite: true}), 0, false},
		"handover to who may not write":         {give(Plea{PeerUID: alice, PeerMember: true, TargetUID: bob}), api.ExitError, false},
		"handover to everybody":                 {give(Plea{PeerUID: alice, PeerMember: true, MayWrite: true, Wider: true}), api.ExitError, false},
		"handover by a sibling":                 {give(Plea{PeerUID: alice, MayWrite: true}), api.ExitNotHeld, false},
		"handover by another user":              {give(Plea{PeerUID: bob, PeerMember: true, MayWrite: true}), api.ExitNotHeld, false},
		"handover of nothing":                   {Plea{Who: Giver, PeerUID: alice, MayWrite: true}, api.ExitNotHeld, false},
		"handover by root":                      {give(Plea{PeerUID: 0}), 0, true},
		"without a rule, root":                  {Plea{PeerUID: 0}, api.ExitError, false},
		"with a rule that is none":              {Plea{Who: Root + 1, PeerUID: alice}, api.ExitError, false},
		"status by anybody":                     {Plea{Who: Anybody, PeerUID: bob}, 0, false},
		"explain by anybody":                    {Plea{Who: Anybody, PeerUID: bob}, 0, false},
		"nobody (overflow uid) renews anothers": {held(Plea{PeerUID: 65534, PeerMember: true}), api.ExitNotHeld, false},
	} {
		t.Run(name, func(t *testing.T) {
			note, f := Authorize(c.plea)
			if c.code == 0 {
				require.Nil(t, f)
			} else {
				require.NotNil(t, f)
				require.Equal(t, c.code, f.Exit())
				require.NotEmpty(t, f.Next)
			}
			require.Equal(t, c.note, note != "")
		})
	}
}
