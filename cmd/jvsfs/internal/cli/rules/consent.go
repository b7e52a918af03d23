package rules

import (
	"context"
	"io"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
)

// plea is how a command asks whether it may do something against rules.
type plea struct {
	what     string // "a break"
	before   string // what to do before --yes
	question string
	refused  string // that nothing was done
}

// consentTo shows what is there and asks, unless yes has said so.
func consentTo(ctx context.Context, std console.Streams, there string, yes bool, p plea) error {
	if _, err := io.WriteString(std.Err, human.Printable(there)+"\n"); err != nil || yes {
		return err
	}
	if !console.IsTerminal(std.In) || !console.IsTerminal(std.Err) {
		return &api.Failure{Class: api.ClassUsage, Message: p.what + " wants an answer, and nobody can be asked without a terminal", Next: p.before + ", then --yes"}
	}
	agreed, err := console.AskYes(ctx, std, p.question+" [y/N] ")
	if err != nil || agreed {
		return err
	}
	return &api.Failure{Message: p.refused}
}
