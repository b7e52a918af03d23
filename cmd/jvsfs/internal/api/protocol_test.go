package api

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// What goes over the wire is one object: releases that knew one type for all requests read it too.
func TestARequestIsOneFlatObject(t *testing.T) {
	for want, req := range map[string]Body{
		`{"version":1,"op":"ping"}`: Ping{},
		`{"version":1,"op":"acquire","path":"main","pid":7,"explicit":true,"scope":"tree","wait_ms":5,"watch":true}`: Acquire{
			Watch: true, Taking: Taking{Where: Where{"main"}, Process: Process{PID: 7, Explicit: true}, Scope: "tree", WaitMS: 5}},
		`{"version":1,"op":"release","path":"main","fencing_token":3}`: Release{Holding{Where: Where{"main"}, Token: 3}},
		`{"version":1,"op":"retire","device":"0:51"}`:                  Retire{Successor{"0:51"}},
	} {
		line, err := Encode(req)
		require.NoError(t, err)
		require.Equal(t, want+"\n", string(line))
	}
	_, err := Encode(Acquire{Taking: Taking{Purpose: strings.Repeat("a", MaxRequest)}})
	require.ErrorContains(t, err, "too long")
}

func TestNoLineIsTrusted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "line")
		if line, err := ParseLine(text); err == nil {
			var req Explain
			if line.Decode(&req) == nil && req.Validate() == nil {
				require.True(t, cleanRelative(req.Path))
			}
		}
	})
}

func TestReadLineIsBounded(t *testing.T) {
	r := bufio.NewReaderSize(io.MultiReader(strings.NewReader("one\n"), endless{}), 16)
	line, err := ReadLine(r, 100)
	require.NoError(t, err)
	require.Equal(t, "one\n", string(line))
	_, err = ReadLine(r, 1000)
	require.ErrorIs(t, err, ErrRequest)

	_, err = ReadLine(bufio.NewReader(strings.NewReader("cut off")), 100)
	require.True(t, errors.Is(err, io.EOF))
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}
