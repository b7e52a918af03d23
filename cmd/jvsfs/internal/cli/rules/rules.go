package rules

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/config"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/status"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/usage"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/client"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/rules"
	"github.com/jvsfs/jvsfs/gate/tenure"
	"github.com/jvsfs/jvsfs/mountcfg"
)

type rulesCommand struct {
	io     console.Streams
	config string
	json   bool
}

// New is jvsfs rules, with its subcommands.
func New(io console.Streams) *cobra.Command {
	c := &rulesCommand{io: io}
	cmd := &cobra.Command{
		Use: "rules [PATH]", Short: "List the presets of rules, or the rules in force on a mount",
		Long: `Rules tell jvsfs of the lock files of other programs; see jvsfs-rules(7). List the
presets; with PATH, the rules in force on its mount; with --config, those of a file:
each key, its value, and where that comes from.`,
		Args: usage.Args(cobra.MaximumNArgs(1)),
		RunE: c.run,
	}
	cmd.Flags().StringVar(&c.config, "config", "", "list the rules of `FILE`, a configuration or a file of rules")
	cmd.Flags().BoolVar(&c.json, "json", false, "print JSON")
	cmd.AddCommand(newShow(io), newTest(io), newBreak(io), newOpen(io), newClose(io), newLearn(io))
	return cmd
}

// rulesView is what `rules --json` prints; the names are a promise.
type rulesView struct {
	Presets    []presetView      `json:"presets,omitempty"`
	Mountpoint string            `json:"mountpoint,omitempty"`
	Values     []mountcfg.Origin `json:"values,omitempty"` // the rows of config show that are about rules

	Windows []tenure.WindowView `json:"windows,omitempty"` // for maintenance, that are open on the mount
}

// presetView is a preset; the names are a promise.
type presetView struct {
	Name  string `json:"name"`
	About string `json:"about"`
	YAML  string `json:"yaml,omitempty"`
}

func (c *rulesCommand) run(cmd *cobra.Command, args []string) error {
	view, err := c.view(cmd.Context(), args)
	if err != nil {
		return err
	}
	if c.json {
		return human.PrintJSON(c.io.Out, view)
	}
	_, err = fmt.Fprint(c.io.Out, rulesText(view, len(args) > 0 || c.config != ""))
	return err
}

func (c *rulesCommand) view(ctx context.Context, args []string) (rulesView, error) {
	switch {
	case len(args) > 0 && c.config != "":
		return rulesView{}, api.Usagef("want PATH or --config, not both")
	case len(args) > 0:
		return rulesInForce(ctx, args[0])
	case c.config != "":
		cfg, err := mountcfg.Rules(fileNamed(c.config), rules.Check)
		if err != nil {
			return rulesView{}, api.UsageError(err)
		}
		return rulesView{Values: aboutRules(cfg.Origins())}, nil
	}
	var view rulesView
	for _, p := range mountcfg.Presets() {
		view.Presets = append(view.Presets, presetView{Name: p.Name, About: p.About})
	}
	return view, nil
}

// fileNamed keeps a name without a slash from being taken for a preset.
func fileNamed(file string) string {
	if !strings.Contains(file, "/") {
		return "./" + file
	}
	return file
}

// rulesInForce asks the mount that serves a path.
func rulesInForce(ctx context.Context, path string) (rulesView, error) {
	t, err := client.Find(ctx, path, "")
	if t.Mount == nil {
		return rulesView{}, noRulesAt(t, err, path+" is on no jvsfs mount", "jvsfs rules --config FILE lists the rules of a configuration")
	}
	view, err := config.OfMount(ctx, t.Mount)
	if err != nil {
		return rulesView{}, err
	}
	return rulesView{Mountpoint: view.Mountpoint, Values: aboutRules(view.Values), Windows: client.StatusOf(ctx, t.Mount).Windows}, nil
}

// aboutRules leaves out the row that says that there are no rules.
func aboutRules(all []mountcfg.Origin) (out []mountcfg.Origin) {
	for _, o := range all {
		if o.Key == "rules" && o.Value != "" || strings.HasPrefix(o.Key, "rules.") {
			out = append(out, o)
		}
	}
	return out
}

func rulesText(view rulesView, inForce bool) string {
	switch {
	case !inForce:
		rows := make([][]string, 0, len(view.Presets))
		for _, p := range view.Presets {
			rows = append(rows, []string{p.Name, p.About})
		}
		return human.Table([]string{"PRESET", "WHAT IT SAYS"}, rows)
	case len(view.Values) == 0:
		return "no rules\n"
	}
	return config.Text(config.View{Values: view.Values}) + status.Windows(view.Windows)
}
