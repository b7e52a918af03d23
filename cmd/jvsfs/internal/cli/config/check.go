package config

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/usage"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/rules"
	"github.com/jvsfs/jvsfs/mountcfg"
)

// configCheck is what `config check --json` prints; the names are a promise.
type configCheck struct {
	OK    bool          `json:"ok"`
	Files []checkedFile `json:"files"`
}

type checkedFile struct {
	File     string    `json:"file"`
	OK       bool      `json:"ok"`
	Source   string    `json:"source,omitempty"`
	Mistakes []mistake `json:"mistakes,omitempty"`

	err error
}

// mistake is one mistake in a file. It has no line if it concerns more than one.
type mistake struct {
	Line    int    `json:"line,omitempty"`   // from 1
	Column  int    `json:"column,omitempty"` // from 1, in characters
	Message string `json:"message"`
}

func newCheck(io console.Streams) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use: "check FILE...", Short: "Check configuration files; show each mistake with line and column",
		Args: usage.Args(cobra.MinimumNArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			c := checkConfigs(args)
			if !asJSON {
				return c.tell(io)
			}
			err := human.PrintJSON(io.Out, c)
			if err == nil && !c.OK {
				return api.ExitWith(api.ExitUsage)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// checkConfigs checks all files, and finds the mistakes of all.
func checkConfigs(files []string) configCheck {
	c := configCheck{OK: true}
	for _, file := range files {
		cfg, err := mountcfg.Load(file, rules.Check)
		c.OK = c.OK && err == nil
		c.Files = append(c.Files, checkedFile{File: file, OK: err == nil, Source: cfg.Source, Mistakes: mistakesOf(err), err: err})
	}
	return c
}

// mistakesOf splits the joined errors of mountcfg.
func mistakesOf(err error) (all []mistake) {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range joined.Unwrap() {
			all = append(all, mistakesOf(one)...)
		}
		return all
	}
	if at, ok := errors.AsType[*mountcfg.FileError](err); ok {
		return []mistake{{Line: at.Line, Column: at.Column, Message: at.Message}}
	}
	return []mistake{{Message: err.Error()}}
}

// Tell prints the result for people: first the files without a mistake, then every mistake.
func (c configCheck) tell(io console.Streams) error {
	var errs []error
	for _, f := range c.Files {
		switch {
		case !f.OK:
			errs = append(errs, f.err)
		case f.Source == "":
			fmt.Fprintf(io.Out, "%s: ok, and names no source\n", human.Printable(f.File))
		default:
			fmt.Fprintf(io.Out, "%s: ok\n", human.Printable(f.File))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return api.UsageError(err)
	}
	return nil
}
