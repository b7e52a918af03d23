package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/spf13/cobra"
)

// buildInfo is what `version --json` prints; the names are a promise.
type buildInfo struct {
	Version  string `json:"version"`            // of the release, else what the go command calls the build
	Commit   string `json:"commit,omitempty"`   // the revision that it was built from
	Modified bool   `json:"modified,omitempty"` // with changes that are not committed
	Time     string `json:"time,omitempty"`     // of the commit
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Protocol int    `json:"protocol"` // of the control socket
}

// buildOf asks the binary what it was built from.
var buildOf = sync.OnceValue(func() buildInfo {
	info, _ := debug.ReadBuildInfo()
	return readBuild(info, version())
})

func readBuild(info *debug.BuildInfo, name string) buildInfo {
	b := buildInfo{Version: name, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Protocol: protocolVersion}
	if info == nil {
		info = &debug.BuildInfo{}
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		case "vcs.time":
			b.Time = s.Value
		}
	}
	return b
}

func newVersionCommand(io stdio) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use: "version", Short: "Say which build this is", Args: usageArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			b := buildOf()
			if asJSON {
				return printJSON(io.out, b)
			}
			_, err := fmt.Fprintf(io.out, "jvsfs %s (%s, %s)\n", b.Version, b.Go, b.Platform)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
