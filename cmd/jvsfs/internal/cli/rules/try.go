package rules

import (
	"fmt"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/usage"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/rules"
	"github.com/jvsfs/jvsfs/mountcfg"
)

func newTest(io console.Streams) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use: "test FILE|PRESET PATH...", Short: "Say which lock guards a path, by the rules of a file or a preset",
		Long: `Say for each PATH what the rules of FILE (a configuration or a file of rules) or PRESET
say: whose lock it is, which lock guards it, and whether it is never changed (once),
never removed (keep) or only grows (append). PATH starts at the root of the mounted
source; nothing needs to be mounted, or to exist. FILE has a slash or a dot in its name.`,
		Args: usage.Args(cobra.MinimumNArgs(2)), ValidArgsFunction: completePreset,
		RunE: func(_ *cobra.Command, args []string) error {
			all, err := testRules(args[0], args[1:])
			if err != nil {
				return err
			}
			if asJSON {
				return human.PrintJSON(io.Out, all)
			}
			for _, said := range all {
				for _, sentence := range said.Sentences() {
					fmt.Fprintf(io.Out, "%s: %s\n", human.Printable(said.Path), human.Printable(sentence))
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func testRules(text string, paths []string) ([]rules.Said, error) {
	cfg, err := mountcfg.Rules(text, rules.Check)
	if err != nil {
		return nil, api.UsageError(err)
	}
	compiled, err := rules.Compile(cfg)
	if err != nil {
		return nil, api.UsageError(err)
	}
	all := make([]rules.Said, 0, len(paths))
	for _, p := range paths {
		clean := path.Clean(p)
		if path.IsAbs(clean) || clean == "." || clean == ".." || strings.HasPrefix(clean, "../") {
			return nil, api.Usagef("%s: want a path below the root of the source, such as main/f", human.Printable(p))
		}
		all = append(all, rules.Say(compiled, clean))
	}
	return all, nil
}
