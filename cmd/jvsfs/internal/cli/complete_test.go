package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
)

// completed runs the command that the shells' scripts run, and returns the words and
// the directive of its answer.
func completed(t *testing.T, line ...string) (words []string, directive string) {
	t.Helper()
	var out, errs strings.Builder
	code := execute(t.Context(), append([]string{cobra.ShellCompNoDescRequestCmd}, line...), Program{Streams: console.Streams{Out: &out, Err: &errs}})
	require.Zero(t, code, errs.String())
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	return lines[:len(lines)-1], lines[len(lines)-1]
}

func TestCompletionOffersWhatFits(t *testing.T) {
	const files, noFiles, dirs, extension = ":0", ":4", ":16", ":8"
	for _, c := range []struct {
		line      string
		words     []string
		directive string
	}{
		{"umo", []string{"umount"}, noFiles},
		{"lock re", []string{"release", "renew"}, noFiles},
		{"umount /no/mount/is/h", []string{}, noFiles},
		{"umount /a b", []string{}, noFiles},
		{"lock acquire /no/mount/is/h", []string{}, files},
		{"exec /srv/main -- ma", []string{}, files},
		{"explain /srv/ma", []string{}, files},
		{"doctor /a /b /c", []string{}, files},
		{"mount /sr", []string{}, dirs},
		{"mount /srv /m", []string{}, dirs},
		{"mount --on-free ", []string{"acquire", "deny", "allow"}, noFiles},
		{"mount --control /v", []string{}, dirs},
		{"mount --lease-duration ", []string{}, noFiles},
		{"mount --config /etc/jvsfs/r", []string{"yaml", "yml"}, extension},
		{"lock steal --scope ", []string{"default", "tree", "session", "user", "cgroup", "mount"}, noFiles},
		{"status x", []string{}, noFiles},
		{"enforce /m ", []string{"observe", "enforce", "readonly"}, noFiles},
		{"recover /no/mount/is/h", []string{}, noFiles},
		{"lock handover /no/mount/is/h", []string{}, files},
		{"config show /sr", []string{}, dirs},
		{"config check /etc/j", []string{}, files},
		{"rules show gi", []string{"git"}, files},
		{"rules test git a", []string{}, files},
		{"mount --rules terr", []string{"terraform"}, files},
	} {
		t.Run(c.line, func(t *testing.T) {
			words, directive := completed(t, strings.Split(c.line, " ")...)
			require.Equal(t, c.words, words)
			require.Equal(t, c.directive, directive)
		})
	}
}
