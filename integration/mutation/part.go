package main

import (
	"errors"
	"fmt"
)

// part is each nth of the mutations, beginning with the ith.
type part struct{ i, n int }

// has tells whether the mutation with an index, from 0, is in the part.
func (p part) has(index int) bool { return index%p.n == p.i-1 }

// MarshalText is for the flag's default.
func (p part) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%d/%d", p.i, p.n), nil }

// UnmarshalText reads I/N.
func (p *part) UnmarshalText(text []byte) error {
	if _, err := fmt.Sscanf(string(text), "%d/%d", &p.i, &p.n); err != nil {
		return fmt.Errorf("want I/N, as in 1/2: %w", err)
	}
	if p.n < 1 || p.i < 1 || p.i > p.n {
		return errors.New("want I/N with I from 1 to N")
	}
	return nil
}
