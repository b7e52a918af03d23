package mountcfg

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseMetrics(t *testing.T) {
	for text, want := range map[string]Metrics{
		"unix:/run/m.sock":            {"unix", "/run/m.sock", 0o600},
		"unix:/run/m.sock,mode=0660":  {"unix", "/run/m.sock", 0o660},
		"unix:/run/m,x.sock,mode=666": {"unix", "/run/m,x.sock", 0o666},
		"127.0.0.1:9750":              {Network: "tcp", Address: "127.0.0.1:9750"},
		"[::1]:0":                     {Network: "tcp", Address: "[::1]:0"},
		"localhost:9750":              {Network: "tcp", Address: "localhost:9750"},
	} {
		got, err := ParseMetrics(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
}

func TestParseMetricsRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "want unix:/PATH or HOST:PORT",
		"9750":                              "want unix:/PATH or HOST:PORT",
		":9750":                             "127.0.0.1:9750 for this machine alone",
		"localhost:http":                    "want a port number",
		"localhost:65536":                   "want a port number",
		"unix:":                             "want an absolute, clean path",
		"unix:run/x":                        "want an absolute, clean path",
		"unix:/run/../x":                    "want an absolute, clean path",
		"unix:/run/x/":                      "want an absolute, clean path",
		"unix:/run/x,mode=8":                "want an octal mode",
		"unix:/run/x,mode=01777":            "want an octal mode",
		"unix:/run/x,mode=":                 "want an octal mode",
		"unix:/run/x\x00y":                  "without NUL",
		"unix:/" + strings.Repeat("x", 107): "at most 107 bytes",
	} {
		_, err := ParseMetrics(text)
		require.ErrorContains(t, err, want, text)
	}
}
