package doctor

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/finding"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/rules"
	"github.com/jvsfs/jvsfs/mountcfg"
)

// configDir has the configurations of mounts that a service manager makes, one file for each mount.
const configDir = "/etc/jvsfs"

// configFindings reads each configuration as a mount would.
func configFindings(dir string) []finding.Finding {
	files, _ := filepath.Glob(filepath.Join(host.EscapeGlob(dir), "*.yaml")) // the pattern is well-formed
	var out []finding.Finding
	for _, file := range files {
		out = append(out, checkConfig(file))
	}
	return out
}

func checkConfig(file string) finding.Finding {
	cfg, err := mountcfg.Load(file, rules.Check)
	var wrong *mountcfg.FileError
	switch {
	case errors.As(err, &wrong):
		return finding.Fail("config.invalid", "correct that line", "%s:%d:%d: %s", wrong.File, wrong.Line, wrong.Column, wrong.Message)
	case errors.Is(err, os.ErrPermission):
		return finding.Warn("config.unreadable", "run doctor as root", "%v", err)
	case err != nil:
		return finding.Fail("config.invalid", "correct the file", "%s: %v", file, err)
	}
	if cfg.Source != "" {
		if _, err := os.Lstat(cfg.Source); errors.Is(err, os.ErrNotExist) {
			return finding.Warn("config.source", "make the directory, or correct the file", "%s: its source %s does not exist", file, cfg.Source)
		}
	}
	return finding.OK("config.valid", "%s can be read", file)
}
