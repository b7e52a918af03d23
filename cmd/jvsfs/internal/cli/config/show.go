package config

import (
	"context"
	"fmt"
	"os"

	"github.com/moby/sys/mountinfo"
	"github.com/spf13/cobra"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/flags"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/usage"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/client"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/mountcfg"
)

// New is jvsfs config, with its subcommands.
func New(io console.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use: "config", Short: "Show the configuration of a mount, and check configuration files",
		Args: usage.Args(cobra.NoArgs),
		RunE: usage.ShowHelp,
	}
	cmd.AddCommand(newShow(io), newCheck(io))
	return cmd
}

type configShow struct {
	io       console.Streams
	settings flags.Settings
	json     bool
}

func newShow(io console.Streams) *cobra.Command {
	c := &configShow{io: io}
	cmd := &cobra.Command{
		Use: "show [SOURCE [MOUNTPOINT]]", Short: "Show each value and where it comes from",
		Long: `Show each value and where it comes from: default, FILE:LINE, -o option (also of
fstab), flag, or argument.

For the mount point of a living mount, the values are those of its daemon. Otherwise
they are what jvsfs mount would use with the same flags and arguments.`,
		Args: usage.Args(cobra.RangeArgs(0, 2)),
		RunE: c.run,
	}
	c.settings.AddFlags(cmd.Flags())
	cmd.Flags().BoolVar(&c.json, "json", false, "print JSON")
	return cmd
}

// View is what `config show --json` prints; the names are a promise.
type View struct {
	Mountpoint string            `json:"mountpoint,omitempty"` // of the living mount whose values these are
	Values     []mountcfg.Origin `json:"values"`
}

func (c *configShow) run(cmd *cobra.Command, args []string) error {
	view, err := c.view(cmd, args)
	if err != nil {
		return err
	}
	if c.json {
		return human.PrintJSON(c.io.Out, view)
	}
	_, err = fmt.Fprint(c.io.Out, Text(view))
	return err
}

func (c *configShow) view(cmd *cobra.Command, args []string) (View, error) {
	mount, err := livingMount(args)
	if err != nil {
		return View{}, err
	}
	if mount == nil {
		for _, path := range args {
			if _, err := os.Stat(path); err != nil {
				return View{}, api.NoPath(path, err)
			}
		}
		cfg, err := c.settings.Resolve(cmd.Flags(), args)
		return View{Values: cfg.Origins()}, err
	}
	if n := cmd.Flags().NFlag(); n > 1 || n == 1 && !c.json {
		return View{}, &api.Failure{
			Class: api.ClassUsage, Message: mount.Mountpoint + " is mounted already, and its values are what they are",
			Next: "leave the flags out",
		}
	}
	return OfMount(cmd.Context(), mount)
}

// livingMount is the mount whose mount point is the only argument, nil if there is none.
func livingMount(args []string) (*mountinfo.Info, error) {
	if len(args) != 1 {
		return nil, nil
	}
	mounts, err := host.ReadMounts()
	if err != nil {
		return nil, err
	}
	path, m, err := host.Resolve(args[0], mounts)
	if err != nil || !host.IsJVSFS(m) || m.Mountpoint != path {
		return nil, err
	}
	return m, nil
}

// OfMount asks the daemon of a mount.
func OfMount(ctx context.Context, m *mountinfo.Info) (View, error) {
	values, err := client.AskFor[[]mountcfg.Origin](ctx, m, api.Config{}, nil)
	return View{Mountpoint: m.Mountpoint, Values: values}, err
}

// Text is a table of the values.
func Text(view View) string {
	rows := make([][]string, 0, len(view.Values))
	for _, o := range view.Values {
		value := human.Printable(o.Value)
		if value == "" {
			value = "-"
		}
		rows = append(rows, []string{o.Key, value, human.Printable(o.Where)})
	}
	return human.Table([]string{"KEY", "VALUE", "FROM"}, rows)
}
