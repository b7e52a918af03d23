package mountcfg

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"
)

// Metrics is where metrics are served.
type Metrics struct {
	Network string // unix or tcp
	Address string // of net.Listen
	Mode    uint32 // permission bits of a unix socket
}

const (
	unixPrefix = "unix:"
	modeSuffix = ",mode="
	// socketMode lets only the daemon's user connect, unless configured.
	socketMode = 0o600
	// maxSocketPath is the longest path in sockaddr_un with its NUL (unix(7)).
	maxSocketPath = 107
)

// ParseMetrics parses Config.Metrics: unix:/PATH, unix:/PATH,mode=0660 or HOST:PORT. An empty text
// is an error.
func ParseMetrics(text string) (Metrics, error) {
	if path, ok := strings.CutPrefix(text, unixPrefix); ok {
		return parseSocket(path)
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return Metrics{}, errors.New("want " + kindAddress.want())
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil {
		return Metrics{}, fmt.Errorf("want a port number from 0 to 65535, not %q", port)
	} else if host == "" {
		return Metrics{}, fmt.Errorf("name the host: 127.0.0.1:%d for this machine alone, 0.0.0.0:%d or [::]:%d for all networks", n, n, n)
	}
	return Metrics{Network: "tcp", Address: text}, nil
}

func parseSocket(text string) (Metrics, error) {
	path, octal, given := strings.Cut(text, modeSuffix)
	m := Metrics{Network: "unix", Address: path, Mode: socketMode}
	if given {
		mode, err := strconv.ParseUint(octal, 8, 32)
		if err != nil || mode > 0o777 {
			return Metrics{}, fmt.Errorf("want an octal mode such as 0660, not %q", octal)
		}
		m.Mode = uint32(mode)
	}
	switch {
	case !filepath.IsAbs(path) || filepath.Clean(path) != path || path == "/":
		return Metrics{}, errors.New("want an absolute, clean path after \"unix:\"")
	case len(path) > maxSocketPath:
		return Metrics{}, fmt.Errorf("want a path of at most %d bytes", maxSocketPath)
	case strings.ContainsRune(path, 0):
		return Metrics{}, errors.New("want a path without NUL bytes")
	}
	return m, nil
}

func metricsField(key, usage string) field {
	return field{
		key: key, kind: kindAddress, usage: usage,
		get: func(c *Config) string { return c.Metrics },
		set: func(c *Config, text, _ string) error {
			if text != "" {
				if _, err := ParseMetrics(text); err != nil {
					return err
				}
			}
			c.Metrics = text
			return nil
		},
	}
}

// validateMetrics keeps the socket out of the mount: otherwise the daemon would make it by a
// request to itself.
func (c Config) validateMetrics() error {
	if !strings.HasPrefix(c.Metrics, unixPrefix) {
		return nil // checked with the field
	}
	m, err := ParseMetrics(c.Metrics)
	if err != nil {
		return nil //nolint:nilerr // reported with the field
	}
	for _, dir := range []string{c.Source, c.Mountpoint} {
		if dir != "" && within(m.Address, dir) {
			return fmt.Errorf("metrics %q (%s): want a socket outside of %s, which the mount covers", c.Metrics, c.where("metrics"), dir)
		}
	}
	return nil
}
