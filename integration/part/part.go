// Package part divides checks that take long among commits.
package part

import (
	"errors"
	"fmt"
)

// Part is each Nth of a list, beginning with the Ith. The zero value is none of it.
type Part struct{ I, N int }

// Has tells whether what has an index, from 0, is in the part.
func (p Part) Has(index int) bool { return p.N > 0 && index%p.N == p.I-1 }

// MarshalText is for the flag's default.
func (p Part) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%d/%d", p.I, p.N), nil }

// UnmarshalText reads I/N.
func (p *Part) UnmarshalText(text []byte) error {
	if _, err := fmt.Sscanf(string(text), "%d/%d", &p.I, &p.N); err != nil {
		return fmt.Errorf("want I/N, as in 1/2: %w", err)
	}
	if p.N < 1 || p.I < 1 || p.I > p.N {
		return errors.New("want I/N with I from 1 to N")
	}
	return nil
}
