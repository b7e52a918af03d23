package mcp

import (
	"context"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// The arguments of the tools; the names are a promise.
type (
	statusArgs struct {
		Path string `json:"path,omitempty" jsonschema:"only the mount that this path is on"`
	}
	pathArgs struct {
		Path string `json:"path" jsonschema:"a file or directory of the worktree, preferably absolute"`
	}
	acquireArgs struct {
		Path    string  `json:"path" jsonschema:"a file or directory of the worktree, preferably absolute"`
		Purpose string  `json:"purpose,omitempty" jsonschema:"what you are going to do, shown to everybody who has to wait"`
		Wait    float64 `json:"wait_seconds,omitempty" jsonschema:"stand in line this long if another holder has the lease (default 0)"`
	}
	waitArgs struct {
		Path string   `json:"path" jsonschema:"a file or directory of the worktree, preferably absolute"`
		Wait *float64 `json:"wait_seconds,omitempty" jsonschema:"how long to wait at most (default 30)"`
	}
	handoverArgs struct {
		Path      string   `json:"path" jsonschema:"a file or directory of the worktree, preferably absolute"`
		ToPID     int      `json:"to_pid,omitempty" jsonschema:"the process that is to hold the lease, with its descendants"`
		ToSession int      `json:"to_session,omitempty" jsonschema:"instead of to_pid: a POSIX session, by the pid of its leader"`
		ToHost    string   `json:"to_host,omitempty" jsonschema:"instead of to_pid: another host; who acquires there next"`
		Purpose   string   `json:"purpose,omitempty" jsonschema:"what the lease is for then (default: as before)"`
		Wait      *float64 `json:"wait_seconds,omitempty" jsonschema:"how long to wait for writes in flight at most (default 30)"`
	}
)

// call is one call of a tool.
type call struct{ req *sdk.CallToolRequest }

func (s *server) addTools(srv *sdk.Server) {
	reads := &sdk.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: new(bool)}
	changes := &sdk.ToolAnnotations{DestructiveHint: new(bool), OpenWorldHint: new(bool)}
	add(s, srv, &sdk.Tool{Name: "status", Annotations: reads,
		Description: "Show the jvsfs mounts, their worktrees, who holds each and how long."}, s.status)
	add(s, srv, &sdk.Tool{Name: "explain", Annotations: reads,
		Description: "Say whether your write to a path would pass, and if not, why and what to do. Takes nothing."}, s.explain)
	add(s, srv, &sdk.Tool{Name: "acquire", Annotations: changes,
		Description: "Take the lease of the worktree of a path, so that only you and what you start can write there. Call it before you edit files there."}, s.acquire)
	add(s, srv, &sdk.Tool{Name: "release", Annotations: changes,
		Description: "Give back the lease of the worktree of a path, so that others can write there. Call it when you are done."}, s.release)
	add(s, srv, &sdk.Tool{Name: "wait", Annotations: reads,
		Description: "Wait until your write to a path would pass, and take nothing. To stand in line for the lease, call acquire with wait_seconds."}, s.wait)
	add(s, srv, &sdk.Tool{Name: "handover", Annotations: changes,
		Description: "Give the lease that you hold to another process, session or host. Nobody else gets it in between. Name one of to_pid, to_session and to_host."}, s.handover)
}

// add adds a tool. Its failures are results that the model reads, not errors of the protocol.
func add[In any](s *server, srv *sdk.Server, t *sdk.Tool, do func(context.Context, call, In) (answer, error)) {
	sdk.AddTool(srv, t, func(ctx context.Context, req *sdk.CallToolRequest, in In) (*sdk.CallToolResult, any, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(s.late, cancel)()
		a, err := do(ctx, call{req}, in)
		if err != nil {
			return failed(err), nil, nil
		}
		return a.result(), nil, nil
	})
}

// client is how the agent's program calls itself, "" if it did not say.
func (c call) client() string {
	if p := c.req.Session.InitializeParams(); p != nil && p.ClientInfo != nil {
		return p.ClientInfo.Name
	}
	return ""
}
