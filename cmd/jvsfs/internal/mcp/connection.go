package mcp

import (
	"context"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// transport connects the SDK with the lines of an agent.
type transport struct {
	in   io.ReadCloser
	out  io.WriteCloser
	late <-chan struct{} // closed when the end waits for no answer any more
}

// Connect is called once.
func (t transport) Connect(ctx context.Context) (sdk.Connection, error) {
	of := sdk.IOTransport{Reader: struct {
		io.Reader
		io.Closer
	}{newLines(t.in, t.out), t.in}, Writer: t.out, MaxLineLength: -1} // the lines are bounded
	c, err := of.Connect(ctx)
	return &connection{Connection: c, late: t.late, closed: make(chan struct{}), open: map[jsonrpc.ID]bool{}, idle: make(chan struct{}, 1)}, err
}

// connection reports the end of the input when all calls that came before it are answered. The SDK answers none after it.
type connection struct {
	sdk.Connection
	late   <-chan struct{}
	closed chan struct{}
	once   sync.Once

	mu   sync.Mutex
	open map[jsonrpc.ID]bool // calls without an answer
	idle chan struct{}       // told when there are none
}

// Read is the next message.
func (c *connection) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if call, is := m.(*jsonrpc.Request); is && err == nil && call.IsCall() {
		c.begin(call.ID)
	}
	if err != nil {
		c.untilAnswered(ctx)
	}
	return m, err
}

// Write sends a message.
func (c *connection) Write(ctx context.Context, m jsonrpc.Message) error {
	err := c.Connection.Write(ctx, m)
	if answer, is := m.(*jsonrpc.Response); is {
		c.finish(answer.ID)
	}
	return err
}

// Close ends the waits, too.
func (c *connection) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Connection.Close()
}

func (c *connection) begin(id jsonrpc.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[id] = true
}

func (c *connection) finish(id jsonrpc.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, id)
	if len(c.open) > 0 {
		return
	}
	select {
	case c.idle <- struct{}{}:
	default: // it is told already
	}
}

func (c *connection) answered() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open) == 0
}

func (c *connection) untilAnswered(ctx context.Context) {
	for !c.answered() {
		select {
		case <-c.idle:
		case <-c.late:
			return
		case <-c.closed:
			return
		case <-ctx.Done():
			return
		}
	}
}
