package mountcfg

import (
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

// Everything that is documented can be written, and the other way round.
func TestSettingsAreTheKeysOfTheFile(t *testing.T) {
	described := []string{keyWorktrees}
	for _, s := range Settings() {
		described = append(described, s.Key)
		if s.Millis {
			described = append(described, s.Key+suffixMillis)
		}
		require.NotEmpty(t, s.Usage, s.Key)
		require.NotEmpty(t, s.Value, s.Key)
		require.NotContains(t, s.Usage, "`", s.Key)
	}
	require.ElementsMatch(t, fieldKeys(), described)
}

func TestSettingsNameTheFlags(t *testing.T) {
	c := Default()
	fs := pflag.NewFlagSet("mount", pflag.ContinueOnError)
	c.AddFlags(fs)
	var flags []string
	fs.VisitAll(func(f *pflag.Flag) { flags = append(flags, f.Name) })
	var described []string
	for _, s := range Settings() {
		if s.Flag != "" {
			described = append(described, s.Flag)
		}
	}
	require.ElementsMatch(t, flags, described)
}

// Every listed word is accepted, and so is every default.
func TestSettingsOfferWhatIsTaken(t *testing.T) {
	for _, s := range Settings() {
		c := Default()
		for _, word := range s.Words {
			require.NoError(t, c.Set(s.Key, word, WhereFlag), "%s %s", s.Key, word)
		}
		if s.Default != "" {
			require.NoError(t, c.Set(s.Key, s.Default, WhereFlag), s.Key)
		}
	}
}

func TestSettingsKnowWhatAWorktreeOverrides(t *testing.T) {
	var overrides []string
	for _, s := range Settings() {
		if s.Overrides {
			overrides = append(overrides, s.Key)
		}
	}
	require.ElementsMatch(t, ruleKeys(), overrides)
}
