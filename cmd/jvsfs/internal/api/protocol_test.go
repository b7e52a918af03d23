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

func TestParseRequest(t *testing.T) {
	req, err := ParseRequest([]byte(`{"version":1,"op":"acquire","path":"main/x","pid":7,"wait_ms":1000}` + "\n"))
	require.NoError(t, err)
	require.Equal(t, 7, req.PID)
	require.Equal(t, "main/x", req.Path)
}

func TestParseRequestRefuses(t *testing.T) {
	for name, line := range map[string]string{
		"nothing":           "",
		"no JSON":           "hello",
		"two values":        `{"version":1,"op":"ping"}{"version":1,"op":"ping"}`,
		"unknown field":     `{"version":1,"op":"ping","uid":0}`,
		"unknown operation": `{"version":1,"op":"format"}`,
		"other version":     `{"version":2,"op":"ping"}`,
		"no version":        `{"op":"ping"}`,
		"negative pid":      `{"version":1,"op":"acquire","pid":-1}`,
		"huge pid":          `{"version":1,"op":"acquire","pid":99999999}`,
		"pid overflow":      `{"version":1,"op":"acquire","pid":99999999999999999999}`,
		"negative wait":     `{"version":1,"op":"acquire","wait_ms":-1}`,
		"endless wait":      `{"version":1,"op":"acquire","wait_ms":9223372036854775807}`,
		"negative since":    `{"version":1,"op":"refusals","since_ms":-1}`,
		"endless since":     `{"version":1,"op":"refusals","since_ms":9223372036854775807}`,
		"climbing path":     `{"version":1,"op":"status","path":"main/../.."}`,
		"absolute path":     `{"version":1,"op":"status","path":"/etc"}`,
		"dot":               `{"version":1,"op":"status","path":"./main"}`,
		"NUL":               `{"version":1,"op":"status","path":"a\u0000b"}`,
		"long path":         `{"version":1,"op":"status","path":"` + strings.Repeat("a", 5000) + `"}`,
		"long purpose":      `{"version":1,"op":"acquire","purpose":"` + strings.Repeat("a", 2000) + `"}`,
		"long mode":         `{"version":1,"op":"enforce","mode":"` + strings.Repeat("a", 100) + `"}`,
		"long host":         `{"version":1,"op":"handover","host":"` + strings.Repeat("a", 300) + `"}`,
		"too long":          `{"version":1,"op":"ping"}` + strings.Repeat(" ", MaxRequest),
		"deep":              strings.Repeat("[", 60000),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseRequest([]byte(line))
			require.ErrorIs(t, err, ErrRequest)
		})
	}
}

func TestParseRequestNeverAcceptsAClimbingPath(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "line")
		if req, err := ParseRequest(line); err == nil {
			require.True(t, cleanRelative(req.Path))
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
