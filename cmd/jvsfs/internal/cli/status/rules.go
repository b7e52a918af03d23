package status

import (
	"fmt"
	"strings"
	"time"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/gate/tenure"
)

// rulesShown is how many locks people want to read of.
const rulesShown = 20

// rulesOfStatus has a row for each lock file that a rule tells of.
func rulesOfStatus(all []tenure.View, now time.Time) string {
	if len(all) == 0 {
		return ""
	}
	rows := make([][]string, 0, min(len(all), rulesShown))
	for _, v := range all[:cap(rows)] {
		number, holder, since := "-", "-", "-"
		if v.Holder != nil {
			number, holder, since = fmt.Sprint(v.Tenure), human.Printable(v.HolderText()), human.Span(now.Sub(*v.Since))
		}
		rows = append(rows, []string{human.Printable(v.ID), string(v.State), number, holder, since, fmt.Sprint(v.Breaks), fmt.Sprint(v.Refusals)})
	}
	text := human.Table([]string{"RULE", "STATE", "TENURE", "HOLDER", "SINCE", "BROKEN", "REFUSED"}, rows)
	if more := len(all) - len(rows); more > 0 {
		text += fmt.Sprintf("and %d more locks: status --json\n", more)
	}
	return text
}

// Windows has a line for each maintenance window that is open.
func Windows(all []tenure.WindowView) string {
	var b strings.Builder
	for _, w := range all {
		at := w.Path
		if at == "" {
			at = "/"
		}
		fmt.Fprintf(&b, "maintenance window at %s of %s, open until %s (rules %s)\n", human.Printable(at), human.Printable(w.HolderText()), w.Until.Local().Format(time.DateTime), human.Printable(strings.Join(w.Rules, ", ")))
	}
	return b.String()
}
