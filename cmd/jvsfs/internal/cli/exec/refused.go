package exec

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/moby/sys/mountinfo"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/refusals"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/gate/process"
)

// refusedPatience is how long exec waits for the daemons at its end. One of them may be stopped.
const refusedPatience = time.Second

// sayRefused prints one line if the child or its descendants were refused anything, on any mount. Tools say
// "Read-only file system" at best.
func (e *Command) sayRefused(ctx context.Context, began time.Time) {
	mounts, err := host.ReadMounts()
	if err != nil || len(mounts.JVSFS()) == 0 {
		return
	}
	self, err := process.ReadStat(os.Getpid()) // above all of them, those that have lost their parent, too
	if err != nil {
		return
	}
	span := time.Since(began) + api.AlikeWithin
	answers := refusals.Ask(ctx, mounts.JVSFS(), refusedPatience, func(*mountinfo.Info) api.Refusals {
		return api.Refusals{Process: api.Process{PID: os.Getpid(), Start: self.Start}, SinceMS: span.Milliseconds()}
	})
	var refused []refusals.Located
	incomplete := false
	for _, a := range answers { // a mount that does not answer has its own commands to say so
		refused = append(refused, a.Refusals...)
		incomplete = incomplete || a.Incomplete
	}
	if line := refusedLine(refusals.Actual(refusals.Summarise(refused)), span, incomplete); line != "" {
		fmt.Fprint(e.IO.Err, line)
	}
}

// refusedLine shows the latest refusal in full, and the number of the others.
func refusedLine(all []refusals.Summary, span time.Duration, incomplete bool) string {
	if len(all) == 0 {
		return ""
	}
	last, others := all[len(all)-1], uint64(0)
	for _, s := range all[:len(all)-1] {
		others += s.Total
	}
	least := ""
	if incomplete {
		least = "at least "
	}
	line := fmt.Sprintf("jvsfs: %s%s: %s", least, last.Text(), last.Sentence)
	if last.Next != "" {
		line += "; next: " + last.Next
	}
	if others > 0 {
		line += fmt.Sprintf(" (and %d more: jvsfs explain --since %s)", others, span.Truncate(time.Second)+time.Second)
	}
	return line + "\n"
}
