package exporter

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/usage"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/logging"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/metrics"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/exporter"
	"github.com/jvsfs/jvsfs/mountcfg"
)

// exporterAddress is for this machine alone: there is no TLS and no password.
const exporterAddress = "127.0.0.1:9747"

// New is jvsfs exporter.
func New(io console.Streams) *cobra.Command {
	address := exporterAddress
	cmd := &cobra.Command{
		Use: "exporter", Short: "Serve Prometheus metrics of all mounts of the machine",
		Long: `Serve Prometheus metrics of all mounts of the machine, until it is interrupted. Each
metric of a mount has the label mountpoint. It asks all daemons at each scrape, for at most
two seconds: jvsfs_up is 0 for a mount whose daemon does not answer. It needs no root.`,
		Args: usage.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return runExporter(cmd.Context(), io, address) },
	}
	cmd.Flags().StringVar(&address, "listen", exporterAddress, "serve at `ADDRESS`: HOST:PORT or unix:/PATH[,mode=0660]")
	return cmd
}

func runExporter(ctx context.Context, io console.Streams, address string) error {
	at, err := mountcfg.ParseMetrics(address)
	if err != nil {
		return api.Usagef("--listen %s: %v", address, err)
	}
	log, err := logging.New(mountcfg.Config{LogLevel: "info", LogFormat: "text"}, os.Stderr, logging.NewSuppressed())
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	err = metrics.Serve(ctx, at, exporter.New(ctx), log, func(where string) {
		if !strings.HasPrefix(where, "unix:") {
			where = "http://" + where + "/metrics"
		}
		fmt.Fprintf(io.Out, "metrics of all mounts: %s\n", where)
	})
	if errors.Is(err, syscall.EADDRINUSE) {
		return &api.Failure{Message: err.Error(), Next: "another exporter may serve there already; else name another address with --listen", Err: err}
	}
	return err
}
