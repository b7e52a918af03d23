package mcp

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
`

// kept is an output that is read when its writer has ended.
type kept struct {
	mu  sync.Mutex
	all bytes.Buffer
}

// Write does not mix with another one.
func (k *kept) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.all.Write(p)
}

func (*kept) Close() error { return nil }

type reply struct {
	ID    any
	Error *struct{ Code int }
}

// answersTo are what a server says to an input that ends at once, but for the answer to initialize.
func answersTo(t *testing.T, input string) (replies []reply) {
	t.Helper()
	var out kept
	require.NoError(t, Serve(t.Context(), Config{Agent: os.Getpid()}, io.NopCloser(strings.NewReader(initialize+input)), &out))
	for line := range strings.Lines(out.all.String()) {
		var r reply
		require.NoError(t, json.Unmarshal([]byte(line), &r), line)
		require.Contains(t, line, `"id":`)
		if r.ID != 0.0 {
			replies = append(replies, r)
		}
	}
	return replies
}

// A line that is no message is answered, and the next one is served: an agent's lease does not end with it.
func TestLinesThatAreNoMessages(t *testing.T) {
	const ping = `{"jsonrpc":"2.0","id":9,"method":"ping"}`
	for name, c := range map[string]struct {
		line string
		id   any
		code int // 0: no answer
	}{
		"no JSON":            {"oops", nil, -32700},
		"a part of it":       {`{"jsonrpc":"2.0"`, nil, -32700},
		"two in a line":      {ping + ping, nil, -32700},
		"not an object":      {"5", nil, -32600},
		"an empty object":    {"{}", nil, -32600},
		"another version":    {`{"jsonrpc":"1.0","id":4,"method":"ping"}`, 4.0, -32600},
		"an id of no kind":   {`{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}`, nil, -32600},
		"a batch":            {"[" + ping + "]", nil, -32600},
		"an empty batch":     {"[]", nil, -32600},
		"too long":           {`{"jsonrpc":"2.0","id":4,"method":"` + strings.Repeat("x", 2*maxLine) + `"}`, nil, -32600},
		"blank":              {" \t\r", nil, 0},
		"empty":              {"", nil, 0},
		"an answer to none":  {`{"jsonrpc":"2.0","id":4,"result":{}}`, nil, 0},
		"a byte order mark":  {"\ufeff", nil, 0},
		"an unknown method":  {`{"jsonrpc":"2.0","id":"x","method":"none"}`, "x", -32601},
		"a mark and a space": {"\ufeff " + strings.Replace(ping, "9", `"marked"`, 1) + " \r", "marked", 0},
	} {
		t.Run(name, func(t *testing.T) {
			got := answersTo(t, c.line+"\n"+ping) // the last line need not end
			answered := map[any]*int{}
			for _, r := range got {
				answered[r.ID] = nil
				if r.Error != nil {
					answered[r.ID] = &r.Error.Code
				}
			}
			require.Contains(t, answered, 9.0, "the next line")
			require.Nil(t, answered[9.0])
			delete(answered, 9.0)
			switch {
			case c.code != 0:
				require.Equal(t, map[any]*int{c.id: &c.code}, answered)
			case c.id != nil:
				require.Equal(t, map[any]*int{c.id: nil}, answered)
			default:
				require.Empty(t, answered)
			}
		})
	}
}

// What is asked right before the end of the input is answered, however much it is.
func TestCallsBeforeTheEndAreAnswered(t *testing.T) {
	ask := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"explain","arguments":{"path":"/"}}}` + "\n"
	var all strings.Builder
	const calls = 50
	for i := range calls {
		all.WriteString(strings.Replace(ask, `"id":1`, `"id":"`+strings.Repeat("i", i+1)+`"`, 1))
	}
	got := answersTo(t, all.String())
	require.Len(t, got, calls)
	for _, r := range got {
		require.Nil(t, r.Error)
	}
}
