package mountcfg

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// Validate checks every value and how they fit together. All mistakes are joined. A source is not
// required: it may still come as an argument.
func (c Config) Validate() error {
	var errs []error
	for i := range fields {
		if fields[i].clear == nil {
			errs = append(errs, c.validateField(&fields[i]))
		}
	}
	if c.ReadOnly && c.Enforce != enforceReadonly {
		errs = append(errs, fmt.Errorf("ro (%s) and enforce %s (%s) contradict each other: leave one of them out",
			c.where(attrReadOnly), c.Enforce, c.where(keyEnforce)))
	}
	errs = append(errs, c.validateExempt(keyExempt, c.Exempt))
	if c.RenewInterval >= c.LeaseDuration {
		errs = append(errs, fmt.Errorf("renew_interval %s (%s) must be shorter than lease_duration %s (%s)",
			c.RenewInterval, c.where("renew_interval"), c.LeaseDuration, c.where("lease_duration")))
	}
	if c.WaitOnConflict > MaxWaitOnConflict {
		errs = append(errs, fmt.Errorf("wait_on_conflict %s (%s): want %s at most", c.WaitOnConflict, c.where(keyWaitOnConflict), MaxWaitOnConflict))
	}
	errs = append(errs, c.validateLogFile(), c.validateMetrics(), c.validateFence(), c.validateEtcd())
	for _, id := range slices.Sorted(maps.Keys(c.Worktrees)) {
		errs = append(errs, c.validateRule(id))
	}
	return errors.Join(errs...)
}

// validateField checks a field, from any origin, as Set does.
func (c Config) validateField(f *field) error {
	value := f.get(&c)
	if f.kind == kindPath && (value == "" || filepath.IsAbs(value)) {
		return nil
	}
	var err error
	if f.kind == kindPath {
		err = errors.New("want an absolute path")
	} else {
		scratch := c
		err = f.set(&scratch, value, "")
	}
	if err != nil {
		return fmt.Errorf("%s %q (%s): %w", f.key, value, c.where(f.key), err)
	}
	return nil
}

// validateLogFile keeps the log out of the mount: otherwise the daemon would wait for itself. It
// compares names and does not follow links.
func (c Config) validateLogFile() error {
	for _, dir := range []string{c.Source, c.Mountpoint} {
		if dir != "" && c.LogFile != "" && within(c.LogFile, dir) {
			return fmt.Errorf("log_file %q (%s): want a file outside of %s, which the mount covers",
				c.LogFile, c.where("log_file"), dir)
		}
	}
	return nil
}

func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}

func (c Config) validateRule(id string) error {
	if err := checkWorktreeID(id); err != nil {
		return fmt.Errorf("worktree id %q: %w", id, err)
	}
	rule := c.Worktrees[id]
	errs := []error{c.validateExempt(ruleKey(id, keyExempt), rule.Exempt)}
	for i := range ruleFields {
		f := &ruleFields[i]
		value := *f.at(&rule)
		if value == "" {
			continue
		}
		if _, err := f.choice.parse(value); err != nil {
			key := ruleKey(id, f.key)
			errs = append(errs, fmt.Errorf("%s %q (%s): %w", key, value, c.where(key), err))
		}
	}
	return errors.Join(errs...)
}
