package flags

import (
	"os"
	"strconv"
	"strings"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/fenceagent"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/mountcfg"
)

// MayFence refuses a fence agent that somebody other than root has named, or could change. Its program runs as root.
func MayFence(cfg mountcfg.Config) error {
	if len(cfg.Fence) == 0 {
		return nil
	}
	if host.ByUser() || os.Geteuid() != 0 {
		return &api.Failure{Class: api.ClassDenied, Message: "fence needs root: it cuts other hosts off the store", Next: "leave it out of the configuration"}
	}
	err := fenceagent.Agent{Command: cfg.Fence}.Check()
	if file := fenceFile(cfg); err == nil && file != "" {
		err = fenceagent.Trusted(file)
	}
	if err != nil {
		return &api.Failure{Class: api.ClassUsage, Message: err.Error(), Err: err, Next: "give it to root: chown root, chmod go-w"}
	}
	return nil
}

// fenceFile is the configuration file that names the agent, "" if it comes from the state of a mount that was there before.
func fenceFile(cfg mountcfg.Config) string {
	for _, o := range cfg.Origins() {
		if o.Key == "fence" {
			file, line, _ := cutLast(o.Where, ":")
			if _, err := strconv.Atoi(line); err == nil {
				return file
			}
		}
	}
	return ""
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
