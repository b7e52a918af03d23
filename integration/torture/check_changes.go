package main

import "github.com/jvsfs/jvsfs/integration/torture/plan"

// checkChanges reads the changes of names as they happened on the backing store, marks between them, like the log.
func (c *checker) checkChanges() {
	if c.Blind {
		return
	}
	o := c.order(c.changesAsRecords(), false)
	o.check(func(plan.Record) {})
	c.lost("curt", o.seen)
}

// changesAsRecords finds the call behind each change. A file goes, or changes its length, by at most one call.
func (c *checker) changesAsRecords() []plan.Record {
	type about struct {
		kind byte
		name string
	}
	by := map[about]*call{}
	for _, one := range c.Calls {
		if one.name() != "" {
			by[about{one.Kind, one.name()}] = one
		}
	}
	var records []plan.Record
	for _, ch := range c.Changes {
		one := by[about{ch.Kind, ch.Name}]
		switch {
		case ch.Mark.Kind != 0:
			records = append(records, ch.Mark)
		case one == nil && foreign(ch.Name) != nil:
			records = append(records, *foreign(ch.Name))
		case one == nil:
			c.find(badUnknown, -1, "%c of %s: nobody called that", ch.Kind, ch.Name)
		default:
			records = append(records, one.record())
		}
	}
	return records
}

// foreign is a file that was made under other records.
func foreign(name string) *plan.Record {
	r, err := plan.ParseName(name)
	if err != nil || r.Token < foreignBase {
		return nil
	}
	return &r
}
