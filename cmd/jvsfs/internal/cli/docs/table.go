//go:build jvsfs_docs

package docs

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// The width of a line in a manual page, and the longest cell in a table of figures.
const (
	manualWidth = 96
	shortCell   = 50
)

// tableForManual converts a table of Markdown for a terminal. A table of sentences becomes a list of terms. A
// table of figures becomes text in columns.
func tableForManual(lines []string) string {
	rows := make([][]string, 0, len(lines))
	for i, line := range lines {
		if i != 1 { // the rule below the header
			rows = append(rows, tableCells(lineForManual(line)))
		}
	}
	if isFigures(rows) {
		return figuresTable(rows)
	}
	return termsTable(rows)
}

// tableCells splits a row at its bars. A bar after a backslash or within code is text.
func tableCells(line string) (cells []string) {
	line = strings.Trim(strings.TrimSpace(line), "|")
	var cell strings.Builder
	code := false
	for i, r := range line {
		switch {
		case r == '`':
			code = !code
			cell.WriteRune(r)
		case r == '|' && !code && (i == 0 || line[i-1] != '\\'):
			cells = append(cells, strings.TrimSpace(cell.String()))
			cell.Reset()
		default:
			cell.WriteRune(r)
		}
	}
	return append(cells, strings.TrimSpace(cell.String()))
}

// isFigures reports whether a table has figures and words only, and no sentences.
func isFigures(rows [][]string) bool {
	for _, row := range rows {
		for column, cell := range row {
			if limit := shortCell + shortCell/2; column == 0 && utf8.RuneCountInString(plain(cell)) > limit {
				return false
			}
			if column > 0 && utf8.RuneCountInString(plain(cell)) > shortCell {
				return false
			}
		}
	}
	return true
}

// plain is a cell without the marks of Markdown.
func plain(cell string) string { return strings.NewReplacer("`", "", "**", "").Replace(cell) }

// termsTable is a list whose terms are the first column. With more than two columns, the header's word stands
// before each cell.
func termsTable(rows [][]string) string {
	var out strings.Builder
	for _, row := range rows[1:] {
		fmt.Fprintf(&out, "\n%s\n:", row[0])
		for column, cell := range row[1:] {
			if len(row) > 2 {
				cell = "*" + rows[0][column+1] + ":* " + strings.TrimSuffix(cell, ".") + "."
			}
			out.WriteString(" " + cell)
		}
		out.WriteString("\n")
	}
	return out.String() + "\n"
}

// figuresTable is text in columns. Columns that do not fit beside the first one follow in a block below.
func figuresTable(rows [][]string) string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for column, cell := range row {
			widths[column] = max(widths[column], utf8.RuneCountInString(plain(cell)))
		}
	}
	var out strings.Builder
	for from := 1; from < len(widths); {
		to, width := from, widths[0]
		for to < len(widths) && (to == from || width+2+widths[to] <= manualWidth) {
			width += 2 + widths[to]
			to++
		}
		out.WriteString("\n```\n")
		for _, row := range rows {
			line := padCell(row[0], widths[0])
			for column := from; column < to; column++ {
				line += "  " + padCell(row[column], widths[column])
			}
			out.WriteString(strings.TrimRight(line, " ") + "\n")
		}
		out.WriteString("```\n")
		from = to
	}
	return out.String()
}

func padCell(cell string, width int) string {
	cell = plain(cell)
	return cell + strings.Repeat(" ", width-utf8.RuneCountInString(cell))
}
