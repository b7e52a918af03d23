package mountcfg

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode"
)

const (
	keyEtcd       = "etcd"
	keyEtcdPrefix = "etcd_prefix"
	keyEtcdUser   = "etcd_user"
	keyEtcdCert   = "etcd_cert"
	keyEtcdKey    = "etcd_key"
	keyEtcdCA     = "etcd_ca"
	keyEtcdSecret = "etcd_password_file"
)

// Etcd says where the leases are kept instead of in the lock directory. It is in use if it has endpoints.
type Etcd struct {
	Endpoints    string `json:",omitempty"` // URLs, with commas between
	Prefix       string `json:",omitempty"` // of the keys of this tree
	CA           string `json:",omitempty"` // absolute file names
	Cert         string `json:",omitempty"`
	Key          string `json:",omitempty"`
	User         string `json:",omitempty"`
	PasswordFile string `json:",omitempty"`
}

// List is the endpoints one by one.
func (e Etcd) List() []string {
	if e.Endpoints == "" {
		return nil
	}
	return strings.Split(e.Endpoints, ",")
}

// EtcdWhere is where the endpoints were set, for people.
func (c Config) EtcdWhere() string { return c.where(keyEtcd) }

// minEtcdLease is the shortest lease that etcd grants with its default election timeout, in whole seconds.
const minEtcdLease = 2 * time.Second

func endpointsField(at func(*Config) *string) field {
	return field{
		key: keyEtcd, kind: kindEndpoints, usage: "keep the leases in etcd at the `URLS` (http://HOST:PORT or https://HOST:PORT, with commas between), not in the lock directory",
		get: func(c *Config) string { return *at(c) },
		set: func(c *Config, text, _ string) error {
			for one := range strings.SplitSeq(text, ",") {
				u, err := url.Parse(one)
				if text != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Port() == "" || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" || u.User != nil) {
					return errors.New("want " + kindEndpoints.want())
				}
			}
			*at(c) = text
			return nil
		},
	}
}

func etcdTextField(key, usage string, check func(string) error, at func(*Config) *string) field {
	return field{
		key: key, kind: kindText, usage: usage,
		get: func(c *Config) string { return *at(c) },
		set: func(c *Config, text, _ string) error { return assign(at(c), text, check(text)) },
	}
}

func checkEtcdPrefix(text string) error {
	if text != "" && (!strings.HasPrefix(text, "/") || strings.HasSuffix(text, "/") || len(text) > 512 || strings.ContainsFunc(text, notPlain)) {
		return errors.New("want a prefix of keys such as /jvsfs/REPOSITORY, without a slash at its end")
	}
	return nil
}

func checkEtcdUser(text string) error {
	if strings.ContainsFunc(text, notPlain) {
		return errors.New("want a name without spaces")
	}
	return nil
}

func notPlain(c rune) bool { return unicode.IsSpace(c) || unicode.IsControl(c) || c == '\'' }

// validateEtcd checks how the keys fit together.
func (c Config) validateEtcd() error {
	e := c.Etcd
	say := func(key, format string, args ...any) error {
		return fmt.Errorf("%s (%s): %s", key, c.where(key), fmt.Sprintf(format, args...))
	}
	if e.Endpoints == "" {
		for key, value := range map[string]string{keyEtcdPrefix: e.Prefix, keyEtcdCA: e.CA, keyEtcdCert: e.Cert, keyEtcdKey: e.Key, keyEtcdUser: e.User, keyEtcdSecret: e.PasswordFile} {
			if value != "" {
				return say(key, "means nothing without etcd: URL")
			}
		}
		return nil
	}
	switch {
	case e.Prefix == "":
		return say(keyEtcd, "needs etcd_prefix, one for each guarded tree and the same on all hosts, such as /jvsfs/REPOSITORY")
	case (e.Cert == "") != (e.Key == ""):
		return say(keyEtcd, "etcd_cert and etcd_key belong together")
	case (e.User == "") != (e.PasswordFile == ""):
		return say(keyEtcd, "etcd_user and etcd_password_file belong together")
	case (e.CA != "" || e.Cert != "") && strings.Contains(","+e.Endpoints, ",http:"):
		return say(keyEtcd, "etcd_ca and etcd_cert want https: in every URL")
	case c.LeaseDuration < minEtcdLease:
		return say(keyEtcd, "lease_duration %s is shorter than etcd's shortest lease, %s", c.LeaseDuration, minEtcdLease)
	case c.RenewInterval*3 < c.LeaseDuration:
		return say(keyEtcd, "renew_interval %s must be a third of lease_duration %s or longer: it is the holder's margin before another host may take the lease", c.RenewInterval, c.LeaseDuration)
	}
	return nil
}
