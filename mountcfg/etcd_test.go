package mountcfg

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEtcdNeedsWhatBelongsTogether(t *testing.T) {
	tests := map[string]string{
		"etcd: http://a:1\n":                                                             "etcd_prefix",
		"etcd_prefix: /x\n":                                                              "means nothing without etcd",
		"etcd: a:1\netcd_prefix: /x\n":                                                   "want URLS such as",
		"etcd: http://a\netcd_prefix: /x\n":                                              "want URLS such as",
		"etcd: 'http://a:1,'\netcd_prefix: /x\n":                                         "want URLS such as",
		"etcd: http://a:1\netcd_prefix: x\n":                                             "want a prefix of keys",
		"etcd: http://a:1\netcd_prefix: /x/\n":                                           "want a prefix of keys",
		"etcd: https://a:1\netcd_prefix: /x\netcd_cert: /c\n":                            "etcd_cert and etcd_key belong together",
		"etcd: https://a:1\netcd_prefix: /x\netcd_user: u\n":                             "etcd_user and etcd_password_file belong together",
		"etcd: http://a:1\netcd_prefix: /x\netcd_ca: /c\n":                               "want https: in every URL",
		"etcd: http://a:1\netcd_prefix: /x\nlease_duration: 1s\nrenew_interval: 500ms\n": "shorter than etcd's shortest lease",
		"etcd: http://a:1\netcd_prefix: /x\nlease_duration: 30s\nrenew_interval: 9s\n":   "must be a third of lease_duration",
		"etcd: http://a:1\netcd_prefix: /x\netcd_pasword_file: /p\n":                     "did you mean etcd_password_file?",
		"etcd: https://a:1,http://b:1\netcd_prefix: /x\netcd_ca: /c\n":                   "want https: in every URL",
		"etcd: http://u:p@a:1\netcd_prefix: /x\n":                                        "want URLS such as",
	}
	for text, want := range tests {
		path := filepath.Join(t.TempDir(), "jvsfs.yaml")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		c, err := Load(path)
		if err == nil {
			err = c.Validate()
		}
		require.ErrorContains(t, err, want, text)
		require.ErrorContains(t, err, path, text)
	}
	path := filepath.Join(t.TempDir(), "jvsfs.yaml")
	require.NoError(t, os.WriteFile(path, []byte("etcd: https://a:1,https://b:1\netcd_prefix: /x\netcd_ca: ca.pem\n"), 0o600))
	c, err := Load(path)
	require.NoError(t, err)
	require.NoError(t, c.Validate())
	require.Equal(t, []string{"https://a:1", "https://b:1"}, c.Etcd.List())
	require.Equal(t, filepath.Join(filepath.Dir(path), "ca.pem"), c.Etcd.CA)
}
