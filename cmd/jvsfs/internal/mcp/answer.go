package mcp

import (
	"context"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
)

// answer is what a tool says: to the model in words, to programs as JSON.
type answer struct {
	text string
	data any
}

func (a answer) result() *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: a.text}}, StructuredContent: a.data}
}

// failed is a failure as the commands print it. The model reads it, and may do better.
func failed(err error) *sdk.CallToolResult {
	f := api.AsFailure(err)
	res := answer{strings.TrimSpace(strings.TrimPrefix(api.FailureText(f), "jvsfs: ")), api.ReportOf(f)}.result()
	res.IsError = true
	return res
}

// mistake is the failure of a call that cannot be carried out as it stands.
func mistake(message string) *api.Failure {
	return &api.Failure{Class: api.ClassUsage, Message: message, Next: "the schema of the tool has its arguments (tools/list)"}
}

// explainMistakes gives arguments that do not fit a tool's schema the form of all failures.
func explainMistakes(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		res, err := next(ctx, method, req)
		if call, ok := res.(*sdk.CallToolResult); ok && err == nil && call.IsError && call.StructuredContent == nil {
			said := "the arguments do not fit"
			if cause := call.GetError(); cause != nil {
				said = cause.Error()
			}
			return failed(mistake(said)), nil
		}
		return res, err
	}
}
