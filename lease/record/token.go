package record

import (
	"fmt"
	"math"
	"strconv"
)

// Token is a fencing token. A worktree's tokens strictly grow, over release, crash, and deletion of the view. 0 means none.
type Token uint64

// TooHigh stands for a number that does not fit. Granted tokens are below MostToken.
const TooHigh = Token(math.MaxUint64)

// tokenDigits is the width of a token in a claim's name, so that names sort like numbers.
const tokenDigits = 20

// Digits is the number as it stands in the name of a claim or a taint.
func (t Token) Digits() string { return fmt.Sprintf("%0*d", tokenDigits, uint64(t)) }

// ParseDigits parses the number in a claim's name. ok is false if the text is not exactly 20 digits. A number that does not fit is
// TooHigh: a hostile name must raise the head, never hide it.
func ParseDigits(s string) (t Token, ok bool) {
	if len(s) != tokenDigits {
		return 0, false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return TooHigh, true
	}
	return Token(n), true
}
