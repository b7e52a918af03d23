package rules

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/usage"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/mountcfg"
)

func newShow(io console.Streams) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use: "show PRESET", Short: "Print a preset, as a file of rules to start from",
		Args: usage.Args(cobra.ExactArgs(1)), ValidArgsFunction: completePreset,
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := mountcfg.FindPreset(args[0])
			if err != nil {
				return api.UsageError(err)
			}
			if asJSON {
				return human.PrintJSON(io.Out, presetView{Name: p.Name, About: p.About, YAML: p.Text})
			}
			_, err = fmt.Fprint(io.Out, p.Text)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// completePreset completes the first argument, and knows nothing of the others.
func completePreset(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return CompletePresets(cmd, args, word)
}

// CompletePresets also lets the shell complete files: a file of rules is as good.
func CompletePresets(_ *cobra.Command, _ []string, word string) (all []cobra.Completion, _ cobra.ShellCompDirective) {
	for _, p := range mountcfg.Presets() {
		if strings.HasPrefix(p.Name, word) {
			all = append(all, cobra.CompletionWithDesc(p.Name, p.About))
		}
	}
	return all, cobra.ShellCompDirectiveDefault
}
