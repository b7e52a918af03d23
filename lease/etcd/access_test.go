package etcd

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/jvsfs/jvsfs/lease"
)

// authorityOfCerts makes certificates.
type authorityOfCerts struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newCA(t testing.TB, name string) *authorityOfCerts {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	require.NoError(t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	ca := &authorityOfCerts{dir: t.TempDir(), cert: cert, key: key}
	ca.write(t, "ca.pem", "CERTIFICATE", der)
	return ca
}

func (ca *authorityOfCerts) write(t testing.TB, name, kind string, der []byte) {
	require.NoError(t, os.WriteFile(ca.path(name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
}

func (ca *authorityOfCerts) path(name string) string { return filepath.Join(ca.dir, name) }

// issue makes name.pem and name-key.pem.
func (ca *authorityOfCerts) issue(t testing.TB, name string) (cert, key string) {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, ca.cert, k.Public(), ca.key)
	require.NoError(t, err)
	ca.write(t, name+".pem", "CERTIFICATE", der)
	der, err = x509.MarshalECPrivateKey(k)
	require.NoError(t, err)
	ca.write(t, name+"-key.pem", "EC PRIVATE KEY", der)
	return ca.path(name + ".pem"), ca.path(name + "-key.pem")
}

func TestTLSLetsInWhoIsKnown(t *testing.T) {
	ca, other := newCA(t, "ca"), newCA(t, "other")
	cert, key := ca.issue(t, "server")
	mine, mineKey := ca.issue(t, "client")
	theirs, theirsKey := other.issue(t, "client")
	srv := startTLS(t, ca, cert, key, mine, mineKey)
	base := Config{Endpoints: []string{srv.url}, Prefix: "/jvsfs/test", Policy: quick, CA: ca.path("ca.pem"), Cert: mine, Key: mineKey}
	s, err := Open(t.Context(), base)
	require.NoError(t, err)
	k := keeper(t, s, host(t, "a"), "main")
	_, err = k.Acquire(t.Context(), who("a", 1))
	require.NoError(t, err)
	require.NoError(t, k.Close())
	require.NoError(t, s.Close())
	for name, change := range map[string]func(*Config){
		"no certificate":          func(c *Config) { c.Cert, c.Key = "", "" },
		"a certificate of others": func(c *Config) { c.Cert, c.Key = theirs, theirsKey },
		"the server is another":   func(c *Config) { c.CA = other.path("ca.pem") },
		"plain where TLS is spoken": func(c *Config) {
			c.Endpoints = []string{strings.Replace(srv.url, "https", "http", 1)}
			c.CA, c.Cert, c.Key = "", "", ""
		},
		"the file of the CA is gone": func(c *Config) { c.CA = "/none.pem" },
		"the key is another's":       func(c *Config) { c.Key = theirsKey },
	} {
		cfg := base
		change(&cfg)
		_, err := Open(t.Context(), cfg)
		require.Equal(t, lease.ClassStoreFailed, lease.ClassOf(err), name)
		t.Logf("%s: %v", name, err)
	}
}

func startTLS(t testing.TB, ca *authorityOfCerts, cert, key, mine, mineKey string) *server {
	pair, err := tls.LoadX509KeyPair(mine, mineKey)
	require.NoError(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(ca.cert)
	return launch(t, "https", &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: pool},
		"--cert-file", cert, "--key-file", key, "--client-cert-auth", "--trusted-ca-file", ca.path("ca.pem"))
}

func TestAPasswordLetsInWhoMay(t *testing.T) {
	srv := startServer(t)
	c := srv.client(t)
	ctx := t.Context()
	for _, err := range []error{
		second(c.UserAdd(ctx, "root", "secret")), second(c.UserGrantRole(ctx, "root", "root")),
		second(c.UserAdd(ctx, "ann", "pass")), second(c.RoleAdd(ctx, "jvsfs")), second(c.UserGrantRole(ctx, "ann", "jvsfs")),
		second(c.RoleGrantPermission(ctx, "jvsfs", "/jvsfs/test/", "/jvsfs/test0", clientv3.PermissionType(clientv3.PermReadWrite))),
		second(c.AuthEnable(ctx)),
	} {
		require.NoError(t, err)
	}
	file := filepath.Join(t.TempDir(), "password")
	require.NoError(t, os.WriteFile(file, []byte("pass\n"), 0o600))
	base := Config{Endpoints: []string{srv.url}, Prefix: "/jvsfs/test", Policy: quick, User: "ann", PasswordFile: file}
	s, err := Open(ctx, base)
	require.NoError(t, err)
	k := keeper(t, s, host(t, "a"), "main")
	_, err = k.Acquire(ctx, who("a", 1))
	require.NoError(t, err)
	require.NoError(t, k.Release(ctx, lease.LossReleased))
	require.NoError(t, k.Close())
	require.NoError(t, s.Close())
	wrong := filepath.Join(t.TempDir(), "wrong")
	require.NoError(t, os.WriteFile(wrong, []byte("no\n"), 0o600))
	open := filepath.Join(t.TempDir(), "open")
	require.NoError(t, os.WriteFile(open, []byte("pass\n"), 0o644))
	for name, change := range map[string]func(*Config){
		"no user":                 func(c *Config) { c.User, c.PasswordFile = "", "" },
		"a wrong password":        func(c *Config) { c.PasswordFile = wrong },
		"others can read it":      func(c *Config) { c.PasswordFile = open },
		"another tree's prefix":   func(c *Config) { c.Prefix = "/jvsfs/other" },
		"the file is not there":   func(c *Config) { c.PasswordFile = "/none" },
		"somebody who is unknown": func(c *Config) { c.User = "eve" },
	} {
		cfg := base
		change(&cfg)
		_, err := Open(ctx, cfg)
		require.Equal(t, lease.ClassStoreFailed, lease.ClassOf(err), name)
		t.Logf("%s: %v", name, err)
	}
}

func second[T any](_ T, err error) error { return err }

// The leader of three members is killed under a holder: it goes on under its token, and another is granted the lease after it.
func TestTheLeaderOfThreeMembersMayEnd(t *testing.T) {
	members := startCluster(t)
	var urls []string
	for _, m := range members {
		urls = append(urls, m.url)
	}
	several := func(c *Config) {
		c.Endpoints = urls
		c.Policy.LeaseDuration, c.Policy.RenewInterval = 9*time.Second, 3*time.Second
	}
	fence := newGauge()
	a := keeper(t, members[0].session(t, several), host(t, "a"), "main", fenced(fence))
	b := keeper(t, members[0].session(t, several), host(t, "b"), "main")
	run(t, a)
	g, err := a.Acquire(t.Context(), who("a", 1))
	require.NoError(t, err)
	leaderOf(t, members).stop()
	was := fence.deadline.Load()
	require.Eventually(t, func() bool { return fence.deadline.Load() > was+int64(3*time.Second) }, time.Minute, 20*time.Millisecond)
	now, held := a.Held()
	require.True(t, held)
	require.Equal(t, g.Token, now.Token)
	require.Zero(t, fence.closedAt.Load(), "the fence was closed meanwhile")
	require.Eventually(t, func() bool {
		_, err := b.Acquire(t.Context(), who("b", 2))
		return lease.ClassOf(err) == lease.ClassLockConflict
	},
		10*time.Second, 50*time.Millisecond)
	require.NoError(t, a.Release(t.Context(), lease.LossReleased))
	g, err = b.Acquire(t.Context(), who("b", 2))
	require.NoError(t, err)
	require.EqualValues(t, 2, g.Token)
}

func leaderOf(t testing.TB, members []*server) *server {
	for _, m := range members {
		ctx, done := context.WithTimeout(t.Context(), 5*time.Second)
		got, err := m.client(t).Status(ctx, m.url)
		done()
		require.NoError(t, err)
		if got.Header.MemberId == got.Leader {
			return m
		}
	}
	t.Fatal("no leader")
	return nil
}
