package mountcfg

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Snapshot returns the effective configuration in a form that Restore reads, without the origins.
//
// What is new since the first release that reads it is left out where it is the default: that release refuses what it does not know,
// and is to recover a mount of this one that asks for nothing new.
func (c Config) Snapshot() (json.RawMessage, error) {
	if c.Transport == Default().Transport {
		c.Transport = ""
	}
	return json.Marshal(c)
}

// Restore returns the configuration of a Snapshot, validated again. where says where the snapshot
// is from. It is the origin of every value that is not the default.
func Restore(snapshot []byte, where string, checks ...RuleCheck) (Config, error) {
	c := Default()
	dec := json.NewDecoder(bytes.NewReader(snapshot))
	dec.DisallowUnknownFields() // written by another release: a part of it would be another mount
	if err := dec.Decode(&c); err != nil {
		return Config{}, fmt.Errorf("%s: %w", where, err)
	}
	defaults := Default()
	for i := range fields {
		if f := &fields[i]; f.get(&c) != f.get(&defaults) {
			c.remember(f.key, where)
		}
	}
	if err := errors.Join(c.Validate(), c.checkRules(checks)); err != nil {
		return Config{}, errors.Join(fmt.Errorf("%s is not a valid configuration", where), err)
	}
	return c, nil
}
