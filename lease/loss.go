package lease

import (
	"fmt"
	"strings"
)

// LossKind says why an epoch was closed. Its number is in journals of daemons: a new kind goes to the end.
type LossKind int

// The kinds of loss.
const (
	LossReleased    LossKind = iota // given back on purpose
	LossExpired                     // the deadline came
	LossSuperseded                  // a higher token was seen
	LossRenewFailed                 // may reopen with the same token
	LossHolderGone                  // the holder's process ended; released
	LossIdle                        // nobody wrote for a lease; released
	LossReplaced                    // another keeper goes on with it, under the same token
	LossHandedOver                  // given to somebody else, under the next token
	LossResumed                     // the deadline came; the same holder goes on, under the next token (rule 16)
	LossPaused                      // the deadline came while the holder was stopped; it may go on, under the next token (rule 16)
)

// lossKinds says all that differs between kinds. A kind's name is spelled here and nowhere else.
var lossKinds = [...]struct {
	name  string
	gives bool      // the record is given back, so others need not wait for it to expire
	event EventKind // what the audit log calls it
}{
	LossReleased:    {"released", true, EventRelease},
	LossExpired:     {"expired", false, EventExpire},
	LossSuperseded:  {"superseded", false, EventSuperseded},
	LossRenewFailed: {"renew_failed", false, EventRenewFailed},
	LossHolderGone:  {"holder_gone", true, EventRelease},
	LossIdle:        {"idle", true, EventRelease},
	LossReplaced:    {"replaced", false, EventRelease},
	LossHandedOver:  {"handed_over", false, EventRelease},
	LossResumed:     {"resumed", false, EventResume},
	LossPaused:      {"paused", false, EventExpire},
}

// LossKinds is how many kinds there are; they are the numbers below it.
const LossKinds = LossKind(len(lossKinds))

func (k LossKind) known() bool { return k >= 0 && k < LossKinds }

// Name is the kind's word in the control protocol, in metrics and in messages.
func (k LossKind) Name() string {
	if !k.known() {
		return "lost"
	}
	return lossKinds[k].name
}

// String is the name as words of a sentence.
func (k LossKind) String() string {
	if !k.known() {
		return fmt.Sprintf("loss(%d)", int(k))
	}
	return strings.ReplaceAll(lossKinds[k].name, "_", " ")
}

// Final is whether the lease is over. Otherwise the same holder may go on with it.
func (k LossKind) Final() bool {
	return k != LossRenewFailed && k != LossResumed && k != LossPaused
}

func (k LossKind) gives() bool { return k.known() && lossKinds[k].gives }

func (k LossKind) event() EventKind {
	if !k.known() {
		return EventRelease
	}
	return lossKinds[k].event
}

// Loss is the end of an epoch. A LossRenewFailed only interrupts it.
type Loss struct {
	Kind   LossKind
	Token  Token
	Since  Token // as in [Grant]; 0: Token
	Holder Holder
	Err    error // why, nil for a plain release
}

// Covers is [Grant.Covers].
func (l Loss) Covers(t Token) bool { return covers(l.Since, l.Token, t) }
