package rules

import (
	"errors"
	"fmt"

	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/mountcfg"
)

// Check finds the mistakes in rules that their shape does not show. mountcfg tells them with their lines.
func Check(all []mountcfg.LockRule) (mistakes []mountcfg.RuleMistake) {
	_, found := lockfile.Compile(specs(all))
	for _, m := range found {
		mistakes = append(mistakes, mountcfg.RuleMistake(m))
	}
	return mistakes
}

// Compile returns the rules of a configuration, nil if it has none. The configuration was checked, so its mistakes
// have no lines here.
func Compile(cfg mountcfg.Config) (*lockfile.Rules, error) {
	compiled, mistakes := lockfile.Compile(specs(cfg.Rules))
	var errs []error
	for _, m := range mistakes {
		errs = append(errs, fmt.Errorf("rule %d: %s: %s", m.Rule+1, m.Key, m.Text))
	}
	return compiled, errors.Join(errs...)
}

func specs(all []mountcfg.LockRule) (out []lockfile.Spec) {
	for _, r := range all {
		out = append(out, lockfile.Spec{
			Name: r.Name, Lock: r.Lock, TakenBy: lockfile.TakenBy(r.TakenBy), Holder: lockfile.Holder(r.Holder),
			Guards: r.Guards, Except: r.Except, Without: lockfile.Without(r.Without),
			Once: r.Once, Keep: r.Keep, Append: r.Append, Break: lockfile.Break(r.Break), OnGone: lockfile.OnGone(r.OnGone), Record: lockfile.RecordOf(r.Record),
		})
	}
	return out
}
