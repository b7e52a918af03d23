package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestASuccessOfAStrangerIsAViolation(t *testing.T) {
	h := &history{trees: []*tree{{}}, did: map[string]int{}}
	h.strangers(1, 22, "chown log -1 -1", resultOK)
	h.strangers(1, 22, "truncate log 0", "EACCES")
	require.Empty(t, h.bad)
	h.strangers(1, 22, `{"op": "release"}`, resultOK)
	require.Len(t, h.bad, 1)
	require.Equal(t, badStranger, h.bad[0].Kind)
	require.True(t, h.trees[0].Strangers[[2]int{1, 22}])
}

func TestEveryForgeryChangesTheRecordAndKeepsItsLength(t *testing.T) {
	whole := make([]byte, 4096)
	for i := range whole {
		whole[i] = ' '
	}
	copy(whole, `{"fencing_token":7,"holder_id":"a:b:1:2"}`)
	for _, with := range forgeries {
		b := forgery(whole, with)
		require.Len(t, b, len(whole), "%v", with)
		require.NotEqual(t, whole, b)
		require.True(t, json.Valid(b))
	}
	require.Nil(t, forgery(make([]byte, 4096), forgeries[0])) // torn
}
