package api

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jvsfs/jvsfs/lease"
)

// The control protocol: one connection carries one request, a line of JSON,
// and the daemon answers with lines of JSON of which the one with the event
// "result" is the answer. "waiting" may come before it, "lost" after it. The
// descriptor of the process that a request names may travel beside the request
// line as SCM_RIGHTS (a pidfd): numbers mean different processes in different
// pid namespaces and at different times, a descriptor does not.
const (
	ProtocolVersion = 1
	MaxRequest      = 64 << 10 // bytes, with the newline
	MaxResponse     = 16 << 20 // bytes of one line
)

// The operations of the control protocol.
const (
	OpPing       = "ping"
	OpStatus     = "status"
	OpConfig     = "config"
	OpExplain    = "explain"
	OpAcquire    = "acquire"
	OpSteal      = "steal"
	OpRenew      = "renew"
	OpRelease    = "release"
	OpLockStatus = "lock_status"
	OpUnmount    = "umount"
	OpDoctor     = "doctor"
	OpWatch      = "watch"
	OpRetire     = "retire"
	OpRetired    = "retired"
	OpEnforce    = "enforce"
	OpHandover   = "handover"
)

// The events of the control protocol.
const (
	EventResult  = "result"
	EventWaiting = "waiting"
	EventLost    = "lost"
)

// Operations are those that there are.
var Operations = map[string]bool{
	OpConfig: true, OpRefusals: true,
	OpPing: true, OpStatus: true, OpExplain: true, OpAcquire: true, OpSteal: true,
	OpRenew: true, OpRelease: true, OpLockStatus: true, OpUnmount: true, OpDoctor: true,
	OpWatch: true, OpRetire: true, OpRetired: true,
	OpEnforce: true, OpHandover: true,
}

// Request is what a client asks.
type Request struct {
	Version int    `json:"version"`
	Op      string `json:"op"`

	SinceMS int64 `json:"since_ms,omitempty"` // refusals: how far back
	Session bool  `json:"session,omitempty"`  // refusals: those of the process's session too
	Stands  bool  `json:"stands,omitempty"`   // refusals: the process stands in the mount, at Path: say where it may write

	Path     string `json:"path,omitempty"`     // below the root of the mount
	PID      int    `json:"pid,omitempty"`      // the process meant, in the client's pid namespace
	Start    uint64 `json:"start,omitempty"`    // its start time (field 22 of /proc/PID/stat), 0 = not known
	Explicit bool   `json:"explicit,omitempty"` // PID was named on purpose
	Repair   bool   `json:"repair,omitempty"`   // of doctor: mend what is provably safe
	Force    bool   `json:"force,omitempty"`    // of doctor: mend the rest too; of steal: end the daemon that keeps the gate
	Scope    string `json:"scope,omitempty"`
	Purpose  string `json:"purpose,omitempty"`
	Host     string `json:"host,omitempty"`    // of handover: to whoever acquires there, instead of a process
	Mode     string `json:"mode,omitempty"`    // of enforce: what to switch to, "" asks for the one of now
	WaitMS   int64  `json:"wait_ms,omitempty"` // acquire: how long to wait for the lease; enforce, handover: for what is in flight
	Steal    bool   `json:"steal,omitempty"`   // acquire: an expired lease may be stolen
	Watch    bool   `json:"watch,omitempty"`   // acquire: keep the connection and report the loss

	// Of umount: the mount that the client means, as it sees it.
	Mount      int    `json:"mount,omitempty"` // its number in mountinfo
	Mountpoint string `json:"mountpoint,omitempty"`

	Device string      `json:"device,omitempty"`        // retire, retired: of the new mount
	Token  lease.Token `json:"fencing_token,omitempty"` // release, steal: only this lease, 0 = the current one; watch: this lease
}

// Response is one line from the daemon.
type Response struct {
	Version int             `json:"version"`
	Event   string          `json:"event"`
	Error   *Failure        `json:"error,omitempty"`
	Note    string          `json:"note,omitempty"` // for people, on standard error
	Record  json.RawMessage `json:"record,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"` // the answer of status and explain
	Reason  string          `json:"reason,omitempty"` // lost: a lossReason
	Token   lease.Token     `json:"fencing_token,omitempty"`
}

// ErrRequest marks requests that the daemon does not understand.
var ErrRequest = errors.New("bad request")

// ParseRequest reads one request line, without trusting a byte of it.
func ParseRequest(line []byte) (Request, error) {
	var req Request
	if len(line) > MaxRequest {
		return req, fmt.Errorf("%w: more than %d bytes", ErrRequest, MaxRequest)
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&req); err != nil {
		return req, fmt.Errorf("%w: %v", ErrRequest, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return req, fmt.Errorf("%w: more than one value", ErrRequest)
	}
	return req, req.validate()
}

// maxWait bounds how long one request may wait for a lease.
const maxWait = 366 * 24 * time.Hour

func (r Request) validate() error {
	switch {
	case r.Version != ProtocolVersion:
		return fmt.Errorf("%w: protocol version %d, this daemon speaks %d: the client and the daemon are of different releases", ErrRequest, r.Version, ProtocolVersion)
	case !Operations[r.Op]:
		return fmt.Errorf("%w: unknown operation %q", ErrRequest, r.Op)
	case r.SinceMS < 0 || r.SinceMS > maxWait.Milliseconds():
		return fmt.Errorf("%w: refusals of %d ms", ErrRequest, r.SinceMS)
	case r.PID < 0 || r.PID > 1<<22: // PID_MAX_LIMIT of the kernel
		return fmt.Errorf("%w: pid %d", ErrRequest, r.PID)
	case r.WaitMS < 0 || r.WaitMS > maxWait.Milliseconds():
		return fmt.Errorf("%w: wait of %d ms", ErrRequest, r.WaitMS)
	case len(r.Path) > 4096 || len(r.Mountpoint) > 4096 || len(r.Purpose) > 1024 || len(r.Scope) > 64 || len(r.Device) > 64 || len(r.Mode) > 64 || len(r.Host) > 255:
		return fmt.Errorf("%w: a field is too long", ErrRequest)
	case !cleanRelative(r.Path):
		return fmt.Errorf("%w: path %q is not a clean relative path", ErrRequest, r.Path)
	}
	return nil
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

// OpRefusals asks for recent refusals: of a process and its descendants, or of its
// session too.
const OpRefusals = "refusals"

// LossName is the word for a loss in the protocol and in messages.
func LossName(k lease.LossKind) string {
	switch k {
	case lease.LossReleased:
		return "released"
	case lease.LossExpired:
		return "expired"
	case lease.LossSuperseded:
		return "superseded"
	case lease.LossRenewFailed:
		return "renew_failed"
	case lease.LossHolderGone:
		return "holder_gone"
	case lease.LossIdle:
		return "idle"
	case lease.LossReplaced:
		return "replaced"
	case lease.LossHandedOver:
		return "handed_over"
	}
	return "lost"
}

// GuardianName is the hidden command that a daemon starts.
const GuardianName = "guardian"

// AnswerTimeout bounds the wait for a daemon that need not wait for anything.
const AnswerTimeout = 10 * time.Second

// Patient tells whether the answer may take any time, so that a daemon that is
// stopped must be found out by a ping before.
func (r Request) Patient() bool {
	return r.WaitMS > 0 || r.Steal || r.Op == OpSteal || r.Op == OpUnmount || r.Op == OpRelease // which drain
}
