package metrics

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/socket"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/metrics"
	"github.com/jvsfs/jvsfs/mountcfg"
)

const (
	metricsPath = "/metrics"
	// metricsRetry is the pause before an address is tried again. The daemon before this one may still have it.
	metricsRetry = 5 * time.Second
	// metricsConnections bounds the descriptors that scrapers, or other clients, can take.
	metricsConnections = 16
	metricsAtOnce      = 4                // scrapes
	metricsHeaders     = 5 * time.Second  // to send the headers of a request
	metricsTimeout     = 10 * time.Second // of one scrape, and to send or take one
)

// Server serves Prometheus metrics over HTTP. If it cannot listen, the mount serves all the same, and
// the server tries again. A nil one serves nothing.
type Server struct {
	at   mountcfg.Metrics
	http http.Server
	log  *zap.Logger

	mu       sync.Mutex
	listener net.Listener // nil while the address is not available
	told     bool         // that the address is not available
}

// newServer makes the server of an address in the form of mountcfg.ParseMetrics;
// "" gives nil. Nothing listens yet.
func newServer(address string, all metrics.Source, log *zap.Logger) (*Server, error) {
	if address == "" {
		return nil, nil
	}
	at, err := mountcfg.ParseMetrics(address)
	if err != nil {
		return nil, api.UsageError(err)
	}
	return serverAt(at, all, log), nil
}

func serverAt(at mountcfg.Metrics, all metrics.Source, log *zap.Logger) *Server {
	mux := http.NewServeMux()
	mux.Handle("GET "+metricsPath, metrics.Handler(all, zap.NewStdLog(log), metricsAtOnce, metricsTimeout))
	return &Server{at: at, log: log, http: http.Server{
		Handler: mux, ErrorLog: zap.NewStdLog(log), MaxHeaderBytes: 16 << 10,
		ReadHeaderTimeout: metricsHeaders, ReadTimeout: metricsTimeout, WriteTimeout: 2 * metricsTimeout, IdleTimeout: time.Minute,
	}}
}

// Serve serves what is gathered, in the way of the server of a mount, until ctx ends. Unlike that it fails
// if it cannot listen. ready is told where it listens.
func Serve(ctx context.Context, at mountcfg.Metrics, all metrics.Source, log *zap.Logger, ready func(address string)) error {
	s := serverAt(at, all, log)
	l, err := listen(at)
	if err != nil {
		return err
	}
	s.listener = l
	s.warnBeyond(l.Addr())
	ready(s.Address())
	return s.serve(ctx)
}

// listen listens at the address.
func listen(at mountcfg.Metrics) (net.Listener, error) {
	if at.Network != "unix" {
		return net.Listen(at.Network, at.Address)
	}
	return socket.Listen(at.Address, os.FileMode(at.Mode))
}

// Address is where metrics are served, "" for nowhere.
func (s *Server) Address() string {
	if s == nil {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.listener == nil:
		return ""
	case s.at.Network == "unix":
		return "unix:" + s.at.Address
	}
	return s.listener.Addr().String() // with the port that was given for 0
}

// Open tries to listen, once.
func (s *Server) Open() {
	if s == nil {
		return
	}
	l, err := listen(s.at)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		if !s.told {
			s.log.Warn("metrics cannot be served yet, trying again", zap.String("address", s.at.Address), zap.Error(err))
		}
		s.told = true
		return
	}
	s.listener = l
	s.log.Info("metrics are served", zap.String("network", s.at.Network), zap.Stringer("address", l.Addr()))
	s.warnBeyond(l.Addr())
}

func (s *Server) warnBeyond(a net.Addr) {
	if host, ok := a.(*net.TCPAddr); ok && !host.IP.IsLoopback() {
		s.log.Warn("metrics are served beyond this machine, without TLS or password", zap.Stringer("address", a))
	}
}

// Run serves until ctx ends, and waits for its scrapes.
func (s *Server) Run(ctx context.Context) {
	if s == nil {
		return
	}
	for s.Address() == "" {
		select {
		case <-ctx.Done():
			return
		case <-time.After(metricsRetry):
			s.Open()
		}
	}
	if err := s.serve(ctx); err != nil {
		s.log.Error("metrics", zap.Error(err))
	}
}

// serve serves at the listener until ctx ends, and waits for its scrapes.
func (s *Server) serve(ctx context.Context) error {
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() { defer close(ended); s.shut() })
	err := s.http.Serve(bounded(s.listener, metricsConnections))
	if !stop() {
		<-ended
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// shut gives current scrapes a moment to end, and cuts off the rest.
func (s *Server) shut() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close() // the rest is cut off; nobody needs the error
	}
}
