package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/url"
	"os"
	"time"
)

// why says why no endpoint answers: the client alone only says that it has waited. nil: that is not known, or one does.
func (c Config) why(ctx context.Context) error {
	ctx, done := context.WithTimeout(ctx, time.Second)
	defer done()
	over, err := c.tls()
	if err != nil {
		return err
	}
	var errs []error
	for _, one := range c.Endpoints {
		u, err := url.Parse(one)
		if err == nil {
			err = greet(ctx, u, over)
		}
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// because is err, or why it is so.
func (c Config) because(ctx context.Context, err error) error {
	if why := c.why(ctx); why != nil {
		return why
	}
	return err
}

// greet shakes hands. A server that does not know our certificate says so after the handshake.
func greet(ctx context.Context, u *url.URL, over *tls.Config) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if u.Scheme != "https" {
		return nil
	}
	over = over.Clone()
	over.ServerName, over.NextProtos = u.Hostname(), []string{"h2"}
	secure := tls.Client(conn, over)
	if err := secure.HandshakeContext(ctx); err != nil {
		return err
	}
	_ = conn.SetReadDeadline(time.Now().Add(200 * time.Millisecond)) // a server that is well waits for us
	if _, err = secure.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	return err
}
