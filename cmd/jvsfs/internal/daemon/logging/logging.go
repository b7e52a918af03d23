package logging

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/mountcfg"
)

// A loop that fails at full speed must not fill a disk. Of equal lines (the same level and sentence), logBurst
// are written each logPeriod. The others are counted.
const (
	period = time.Minute
	burst  = 100
)

// New makes the log of a daemon that writes to out.
func New(cfg mountcfg.Config, out *os.File, left *Suppressed) (*zap.Logger, error) {
	level, err := zapcore.ParseLevel(cfg.LogLevel)
	if err != nil {
		return nil, fmt.Errorf("log_level: %w", err)
	}
	core := zapcore.NewCore(newEncoder(cfg.LogFormat, isJournal(out)), zapcore.Lock(out), level)
	return zap.New(zapcore.NewSamplerWithOptions(core, period, burst, 0, zapcore.SamplerHook(left.note))), nil
}

func newEncoder(format string, journal bool) zapcore.Encoder {
	if format == "text" {
		return newTextEncoder(journal)
	}
	cfg := zap.NewProductionEncoderConfig()
	cfg.EncodeTime = zapcore.ISO8601TimeEncoder
	return zapcore.NewJSONEncoder(cfg)
}

// isJournal reports whether f is the stream to systemd's journal. The journal adds a time of its own, and takes
// levels as <N> in front of a line (systemd.exec(5), sd-daemon(3)).
func isJournal(f *os.File) bool {
	var st unix.Stat_t
	if unix.Fstat(int(f.Fd()), &st) != nil {
		return false
	}
	return os.Getenv("JOURNAL_STREAM") == fmt.Sprintf("%d:%d", st.Dev, st.Ino)
}

// Dir is where root's daemons log by default.
const Dir = "/var/log/jvsfs"

// ownDir is that of this user.
func ownDir() string {
	if host.ByUser() {
		return filepath.Join(host.UserState(), "log")
	}
	return Dir
}

// Open opens the log file of a daemon, append only.
func Open(cfg mountcfg.Config) (*os.File, error) {
	if cfg.LogFile == "" {
		if host.ByUser() {
			if err := host.PrepareUserState(); err != nil {
				return nil, err
			}
		}
		if err := os.MkdirAll(ownDir(), 0o750); err != nil {
			return nil, err
		}
	}
	f, err := os.OpenFile(Path(cfg), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o640)
	if err != nil {
		return nil, &api.Failure{Message: fmt.Sprintf("the log cannot be written: %v", err), Next: "make its directory, or name another file with --log-file", Err: err}
	}
	return f, nil
}

// Path returns the name of a daemon's log file.
func Path(cfg mountcfg.Config) string {
	if cfg.LogFile != "" {
		return cfg.LogFile
	}
	return filepath.Join(ownDir(), logName(cfg.Source))
}

// longestName is that of a file (NAME_MAX), less what rotating programs put behind it.
const longestName = 255 - 32

// logName is a file name for the log of a mount of source. Where the path is too long for a name, its end and a sum of all of it are.
func logName(source string) string {
	name := strings.Trim(strings.ReplaceAll(source, "/", "-"), "-")
	if name == "" {
		name = "root"
	}
	if len(name) > longestName {
		sum := sha256.Sum256([]byte(source))
		name = hex.EncodeToString(sum[:8]) + "-" + name[len(name)-150:]
	}
	return name + ".log"
}
