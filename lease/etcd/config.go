package etcd

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/record"
)

// Config is where etcd is, and how to be let in.
type Config struct {
	Endpoints    []string
	Prefix       string // of all keys; it begins with a slash
	CA           string // file of the certificates that servers are known by; "" = those of the system
	Cert, Key    string // files of the client's certificate; "" = none
	User         string // "" = no authentication by password
	PasswordFile string

	Policy record.Policy
	Clock  lease.Clock
}

const (
	// dialWait bounds the first connection. Later ones are made again and again while the session lasts.
	dialWait = 5 * time.Second
	// fieldSize bounds what is read of a password file.
	fieldSize = 4096
)

// client connects. The errors name the file that is wrong.
func (c Config) client() (*clientv3.Client, error) {
	over, err := c.tls()
	if err != nil {
		return nil, err
	}
	password, err := c.password()
	if err != nil {
		return nil, err
	}
	return clientv3.New(clientv3.Config{
		Endpoints: c.Endpoints, TLS: over, Username: c.User, Password: password, DialTimeout: dialWait,
		DialKeepAliveTime: 5 * time.Second, DialKeepAliveTimeout: 3 * time.Second, Logger: zap.NewNop(),
	})
}

// tls is nil where every endpoint is plain.
func (c Config) tls() (*tls.Config, error) {
	if c.CA == "" && c.Cert == "" && !strings.HasPrefix(strings.Join(c.Endpoints, " "), "https:") {
		return nil, nil
	}
	out := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.CA != "" {
		text, err := os.ReadFile(c.CA)
		if err != nil {
			return nil, fmt.Errorf("etcd_ca: %w", err)
		}
		out.RootCAs = x509.NewCertPool()
		if !out.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("etcd_ca: %s has no certificate in PEM", c.CA)
		}
	}
	if c.Cert != "" {
		pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
		if err != nil {
			return nil, fmt.Errorf("etcd_cert %s, etcd_key %s: %w", c.Cert, c.Key, err)
		}
		out.Certificates = []tls.Certificate{pair}
	}
	return out, nil
}

// password is the first line of the file. Others must not be able to read it.
func (c Config) password() (string, error) {
	if c.PasswordFile == "" {
		return "", nil
	}
	info, err := os.Stat(c.PasswordFile)
	if err != nil {
		return "", fmt.Errorf("etcd_password_file: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 || info.Size() > fieldSize {
		return "", fmt.Errorf("etcd_password_file: %s must be short, and for its owner alone: chmod 600", c.PasswordFile)
	}
	text, err := os.ReadFile(c.PasswordFile)
	if err != nil {
		return "", fmt.Errorf("etcd_password_file: %w", err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	if line == "" {
		return "", errors.New("etcd_password_file: the first line of " + c.PasswordFile + " is empty")
	}
	return line, nil
}
