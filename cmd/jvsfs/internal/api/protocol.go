package api

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jvsfs/jvsfs/lease"
)

// The control protocol. One connection carries one request, a line of JSON. The daemon answers with lines of
// JSON; the line with the event "result" is the answer. A line "waiting" may come before it, a line "lost"
// after it. A pidfd of the process that a request names may travel beside the request line (SCM_RIGHTS): a pid
// means different processes in different pid namespaces and at different times, a pidfd does not.
const (
	ProtocolVersion = 1
	MaxRequest      = 64 << 10 // bytes, with the newline
	MaxResponse     = 16 << 20 // bytes of one line
)

// The events of the control protocol.
const (
	EventResult  = "result"
	EventWaiting = "waiting"
	EventLost    = "lost"
)

// Response is one line from the daemon.
type Response struct {
	Version int             `json:"version"`
	Event   string          `json:"event"`
	Error   *Failure        `json:"error,omitempty"`
	Note    string          `json:"note,omitempty"` // for people, on standard error
	Record  json.RawMessage `json:"record,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"` // the answer of status and explain
	Reason  string          `json:"reason,omitempty"` // lost: the LossKind's name
	Token   lease.Token     `json:"fencing_token,omitempty"`
}

// ErrRequest marks requests that the daemon does not understand.
var ErrRequest = errors.New("bad request")

// The advice if a command and a daemon do not understand each other.
const (
	NextOfOlderDaemon  = "the daemon is the older one: jvsfs mount --replace puts one of this command's release in its place, or umount and mount again; jvsfs doctor names the versions"
	NextOfOlderCommand = "this command is the older one: run the jvsfs that the daemon was started from; jvsfs doctor names the versions"
)

// Line is a request line of which only the envelope has been read.
type Line struct {
	Version int
	Op      string
	fields  map[string]json.RawMessage
}

// ParseLine reads the envelope of a request line, without trusting a byte of it. The operation reads the rest
// later, so that a client of another release first learns that it is one.
func ParseLine(text []byte) (Line, error) {
	var l Line
	if len(text) > MaxRequest {
		return l, fmt.Errorf("%w: more than %d bytes", ErrRequest, MaxRequest)
	}
	if err := json.Unmarshal(text, &l.fields); err != nil {
		return l, fmt.Errorf("%w: %w", ErrRequest, err)
	}
	for name, into := range map[string]any{"version": &l.Version, "op": &l.Op} {
		if raw, ok := l.fields[name]; ok {
			if err := json.Unmarshal(raw, into); err != nil {
				return l, fmt.Errorf("%w: %w", ErrRequest, err)
			}
		}
		delete(l.fields, name)
	}
	return l, nil
}

// Decode reads the rest of the line into a pointer to the request of its operation, which
// must know every field.
func (l Line) Decode(into any) error {
	raw, err := json.Marshal(l.fields)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRequest, err)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return fmt.Errorf("%w: %w", ErrRequest, err)
	}
	return nil
}

// Encode is the request line of an operation, with its newline.
func Encode(req Body) ([]byte, error) {
	head, err := json.Marshal(struct {
		Version int    `json:"version"`
		Op      string `json:"op"`
	}{VersionOf(req), req.Op()})
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(req)
	if err != nil {
		return nil, err
	}
	line := head[:len(head)-1]
	if len(body) > len("{}") {
		line = append(append(line, ','), body[1:len(body)-1]...)
	}
	line = append(line, '}', '\n')
	if len(line) > MaxRequest {
		return nil, Usagef("the request is too long")
	}
	return line, nil
}

// VersionOf is the version of an operation's shape. It grows when another release could misunderstand the new
// shape. While the shape of an operation is unchanged, clients and daemons of different releases understand
// each other. A new operation starts with the current version of the protocol.
func VersionOf(req Body) int {
	if v, ok := req.(interface{ Version() int }); ok {
		return v.Version()
	}
	return ProtocolVersion
}

// cleanRelative accepts "" and paths of plain components.
func cleanRelative(path string) bool {
	if path == "" {
		return true
	}
	for _, name := range bytes.Split([]byte(path), []byte("/")) {
		s := string(name)
		if s == "" || s == "." || s == ".." || bytes.IndexByte(name, 0) >= 0 {
			return false
		}
	}
	return true
}

// ReadLine reads one line of at most limit bytes.
func ReadLine(r *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > limit {
			return nil, fmt.Errorf("%w: a line of more than %d bytes", ErrRequest, limit)
		}
		if err == nil {
			return line, nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
	}
}

// GuardianName is the hidden command that a daemon starts.
const GuardianName = "guardian"

// AnswerTimeout bounds the wait for the answer to a request for which the daemon need not wait.
const AnswerTimeout = 10 * time.Second
