package control

import (
	"context"
	"errors"
	"fmt"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockop"
)

// Change says whether a request changes leases or the mode. A daemon that is being replaced leaves such changes
// to the next one.
type Change int

// What a request changes.
const (
	ChangesNothing Change = iota
	ChangesLeases         // and is soon over: a replacement waits for its end
	WaitsLong             // perhaps as long as somebody else holds: the latches of the leases are shut first, or the request is sent on to the new daemon
)

// Operation is one row of the control protocol's table.
type Operation struct {
	Name    string
	version int // of its shape
	Change  Change
	Who     lockop.Who // may: Mounter and Root are checked before the handler, the others in it, because they depend on what is held
	parse   func(api.Line) (api.Body, error)
	instead func(*Session) (resp api.Response, is bool, err error) // an answer before everything else; may be nil
	answer  func(context.Context, *Session) (api.Response, error)
}

// On is the row of an operation.
func On[R api.Body](what Change, who lockop.Who, handle func(context.Context, *Session, R) (api.Response, error)) Operation {
	op := rowOf[R](what, who)
	op.answer = func(ctx context.Context, s *Session) (api.Response, error) { return handle(ctx, s, s.Req.(R)) }
	return op
}

func rowOf[R api.Body](what Change, who lockop.Who) Operation {
	var none R
	return Operation{Name: none.Op(), version: api.VersionOf(none), Change: what, Who: who, parse: func(l api.Line) (api.Body, error) {
		var req R
		if err := l.Decode(&req); err != nil {
			return nil, err
		}
		return req, req.Validate()
	}}
}

// Unless adds an answer that comes before everything else.
func (op Operation) Unless(instead func(*Session) (resp api.Response, is bool, err error)) Operation {
	op.instead = instead
	return op
}

// Table is the control protocol of a mount: its operations by their names.
type Table map[string]*Operation

// TableOf is the table of operations.
func TableOf(rows ...Operation) Table {
	all := make(Table, len(rows))
	for _, op := range rows {
		all[op.Name] = &op
	}
	return all
}

// otherRelease says that the command and this daemon are of different releases. The daemon's operation op has
// version ours; 0 means that it has no such operation.
type otherRelease struct {
	op           string
	theirs, ours int
}

func (o otherRelease) Error() string {
	const why = "the command and the daemon are of different releases; the daemon is of"
	if o.ours == 0 {
		return fmt.Sprintf("%v: unknown operation %q: %s %s", api.ErrRequest, o.op, why, api.Version())
	}
	return fmt.Sprintf("%v: protocol version %d of %q, this daemon speaks %d: %s %s", api.ErrRequest, o.theirs, o.op, o.ours, why, api.Version())
}

// Unwrap makes it a bad request.
func (otherRelease) Unwrap() error { return api.ErrRequest }

// next is the advice: the older of the two must be replaced.
func (o otherRelease) next() string {
	if o.ours > o.theirs {
		return api.NextOfOlderCommand
	}
	return api.NextOfOlderDaemon
}

// Parse finds the operation of a request line, and reads the line as its request. It compares the
// versions first, because the meaning of a line of another version is not known here.
func (t Table) Parse(text []byte) (*Operation, api.Body, error) {
	line, err := api.ParseLine(text)
	if err != nil {
		return nil, nil, err
	}
	op := t[line.Op]
	switch {
	case op == nil && line.Version == 0:
		return nil, nil, fmt.Errorf("%w: no operation of the control protocol", api.ErrRequest)
	case op == nil:
		return nil, nil, otherRelease{op: line.Op, theirs: line.Version}
	case line.Version != op.version:
		return nil, nil, otherRelease{op: line.Op, theirs: line.Version, ours: op.version}
	}
	req, err := op.parse(line)
	if err != nil {
		return nil, nil, err
	}
	return op, req, nil
}

// notUnderstood is the answer to a line that is no request of this release.
func notUnderstood(err error) *api.Failure {
	f := &api.Failure{Class: api.ClassUsage, Message: err.Error()}
	if o, is := errors.AsType[otherRelease](err); is {
		f.Next = o.next()
	}
	return f
}
