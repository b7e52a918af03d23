package plan

import "fmt"

// Kinds of a Record.
const (
	KindData  = 'D' // a write of a writer
	KindGate  = 'G' // a taker has LOCK_EX and is about to claim
	KindBegin = 'B' // the token was claimed

	// Of a host, not of a worktree.
	KindLoose    = 'L' // its mount is about to observe
	KindStrict   = 'S' // it has been told that the mount enforces again
	KindSealed   = 'Z' // it has been told that the mount is read-only
	KindUnsealed = 'U' // the mount is about to be not that any more

	// Of the root of a worktree.
	KindMoving = 'm' // it is about to be renamed
	KindMoved  = 'M' // it was: the token says to which name
	KindStays  = 's' // it was not
)

// RecordSize is the length of a Record, with its newline.
const RecordSize = 64

// Record is one line of the log on the backing store: a write as it landed, or the mark of a taker. Its place in the file
// is the order of landing, for every line is one O_APPEND write.
type Record struct {
	Kind   byte
	Token  uint64
	Host   int
	PID    int   // the writer's, or that of the holder who was granted, in the pid namespace of the host
	Handle int   // data: which open handle
	Seq    int   // data: number of the writer's call
	Wall   int64 // marks: CLOCK_REALTIME of the machine, nanoseconds, sampled before the mark was written
}

func (r Record) last() int64 {
	if r.Kind == KindData {
		return int64(r.Handle)*1e10 + int64(r.Seq)
	}
	return r.Wall
}

func (r *Record) setLast(last int64) error {
	switch r.Kind {
	case KindData:
		r.Handle, r.Seq = int(last/1e10), int(last%1e10)
	case KindGate, KindBegin, KindLoose, KindStrict, KindSealed, KindUnsealed, KindMoving, KindMoved, KindStays:
		r.Wall = last
	default:
		return fmt.Errorf("a record cannot be of kind %q", r.Kind)
	}
	return nil
}

// Encode is the line.
func (r Record) Encode() []byte {
	line := fmt.Sprintf("%c %020d %02d %07d %019d", r.Kind, r.Token, r.Host, r.PID, r.last())
	return append(fmt.Appendf(nil, "%-*s", RecordSize-1, line), '\n')
}

// Parse reads a line of RecordSize bytes.
func Parse(b []byte) (r Record, err error) {
	var last int64
	if len(b) != RecordSize || b[RecordSize-1] != '\n' {
		return r, fmt.Errorf("no record: %q", b)
	}
	if _, err = fmt.Sscanf(string(b), "%c %d %d %d %d", &r.Kind, &r.Token, &r.Host, &r.PID, &last); err == nil {
		err = r.setLast(last)
	}
	if err != nil {
		return r, fmt.Errorf("no record: %q: %w", b, err)
	}
	return r, nil
}

// Name is the record as the name of a file.
func (r Record) Name() string {
	return fmt.Sprintf("%c-%d-%d-%d-%d", r.Kind, r.Token, r.Host, r.PID, r.last())
}

// ParseName reads a Name.
func ParseName(name string) (r Record, err error) {
	var last int64
	if _, err = fmt.Sscanf(name, "%c-%d-%d-%d-%d", &r.Kind, &r.Token, &r.Host, &r.PID, &last); err == nil {
		err = r.setLast(last)
	}
	if err != nil {
		return r, fmt.Errorf("no record's name: %q: %w", name, err)
	}
	return r, nil
}
