package lease

import (
	"time"

	"github.com/jvsfs/jvsfs/lease/record"
)

// files is the authority that the package comment describes: the claims of a lock directory. It watches the head over time.
type files struct{ watcher }

// newFiles is the authority of the claims of cfg.Store.
func newFiles(cfg KeeperConfig) *files { return &files{watcher{cfg: cfg}} }

func (f *files) Look() (Head, Judgement, error) { return f.look() }

func (f *files) Observe() (Head, Judgement) { return f.observe() }

func (f *files) Still() (Head, bool) { return f.stillFree() }

// Claim needs no head: link(2) decides (rule 2).
func (f *files) Claim(rec *record.Record, _ Head) (Tenure, error) {
	c, err := f.cfg.Store.bear(rec)
	if err != nil {
		return nil, err // not a Tenure that holds a nil *claim
	}
	return c, nil
}

func (f *files) Resume(h Head) (Tenure, error) {
	c, err := f.cfg.Store.openOrphan(h)
	if err != nil {
		return nil, f.cfg.Store.asError(err)
	}
	rec, err := c.unreleased()
	if err != nil {
		c.close()
		return nil, err
	}
	c.rec = rec
	return c, nil
}

func (f *files) Record(t Token) (*record.Record, error) {
	h := f.cfg.Store.readRecordFile(f.cfg.Store.claimName(t))
	return h.Record, h.Unreadable
}

func (f *files) Past(from, head Token) ([]Past, error) { return f.cfg.Store.Past(from, head) }

// The claim as a tenure. Its own methods say how each is done.

func (c *claim) Record() *record.Record { return c.rec }

func (c *claim) Head() Head {
	return Head{Token: c.rec.FencingToken, Record: c.rec, File: c.store.display(c.name()), file: c.file}
}

func (c *claim) Is(h Head) bool {
	return h.Record != nil && !h.Foreign && h.file == c.file && h.Record.HolderNonce == c.rec.HolderNonce
}

func (c *claim) Stamp() (time.Time, error) {
	at, err := c.stamp()
	if err != nil {
		return at, c.store.failed("the fresh record's time cannot be read", c.tmp, err)
	}
	return at, nil
}

func (c *claim) Win(Event) (bool, error)        { return c.link() }
func (c *claim) Publish() error                 { return c.publish() }
func (c *claim) Repair() error                  { return c.repairView() }
func (c *claim) Check() (*record.Record, error) { return c.check() }
func (c *claim) Write(rec *record.Record) error { return c.rewrite(rec) }
func (c *claim) Late() func() error             { return c.lateCheck() }

// Lapse has nothing to do: the record runs out by itself.
func (c *claim) Lapse() {}

func (c *claim) Discard() { c.discard() }
func (c *claim) Close()   { c.close() }

// From is t0: a deadline counts from before the record was written.
func (c *claim) From(t0 time.Duration) time.Duration { return t0 }

func (c *claim) Over(sure bool) (bool, error) {
	if sure {
		return c.successorAnywhere()
	}
	return c.successor()
}

func (c *claim) Release(how Releasing) error {
	c.brief = how.Brief
	return c.markReleased(how.At, how.Pause)
}
