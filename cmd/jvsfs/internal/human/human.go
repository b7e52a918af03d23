package human

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// Printable makes text of another process safe to print on a terminal.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if strconv.IsPrint(r) {
			return r
		}
		return '?'
	}, s)
}

// PrintableLines is printable for a text that may have several lines, as the mistakes in
// a configuration do.
func PrintableLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = Printable(lines[i])
	}
	return strings.Join(lines, "\n")
}

// PrintJSON writes v for programs: one value, indented, with a newline.
func PrintJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// Some names the first of a list, and counts the others.
func Some[T any](all []T, most int, name func(T) string) string {
	var names []string
	for _, one := range all[:min(len(all), most)] {
		names = append(names, name(one))
	}
	if more := len(all) - most; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// Clock is the time of day, "-" for none.
func Clock(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format("15:04:05")
}

// Table aligns rows under their heads, for people.
func Table(head []string, rows [][]string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(head, "\t"))
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	if err := w.Flush(); err != nil {
		return ""
	}
	return b.String()
}

// Shorten cuts s to n characters.
func Shorten(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}

// Span is a duration as people say it: tenths of a second.
func Span(d time.Duration) string {
	return d.Round(100 * time.Millisecond).String()
}

// Left says how far a moment lies in the future, or in the past.
func Left(d time.Duration) string {
	if d < 0 {
		return Span(-d) + " ago"
	}
	return Span(d) + " left"
}

// Indent moves every line by two columns.
func Indent(text string) string {
	if text == "" {
		return ""
	}
	return "  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ") + "\n"
}
