//go:build jvsfs_docs

package docs

import (
	"fmt"
	"regexp"
	"strings"
)

// The pages of section 7 are written for the web, where most people read them. This file converts them to the
// Markdown that md2man understands.

// webTitle is the first line of such a page: "# NAME(SECTION) - what it is about".
var webTitle = regexp.MustCompile(`^# ([\w.-]+)\((\d)\) - (.*)\n`)

// manualOf is the name of a section, in the header of its pages.
var manualOf = map[string]string{
	userSection: "User commands", "5": "File formats", "7": "Miscellaneous information", adminSection: "System administration",
}

// forManual converts a page that was written for the web. It leaves other pages alone.
func forManual(page string, d pageData) string {
	m := webTitle.FindStringSubmatch(page)
	if m == nil {
		return page
	}
	title := fmt.Sprintf("%% %q %q %q %q %q\n# NAME\n%s - %s\n", strings.ToUpper(m[1]), m[2], d.Date, d.Source, manualOf[m[2]], m[1], m[3])
	return title + forManualBody(page[len(m[0]):])
}

// forManualBody converts block by block. Fenced blocks stay as they are, tables become lists or columns, and
// other text loses the marks for the web.
func forManualBody(text string) string {
	var out strings.Builder
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		switch line := lines[i]; {
		case strings.HasPrefix(line, "```"):
			out.WriteString("```\n") // without what the tests read after it
			for i++; !strings.HasPrefix(lines[i], "```"); i++ {
				out.WriteString(lines[i] + "\n")
			}
			out.WriteString("```\n")
		case strings.HasPrefix(line, "|"):
			first := i
			for i+1 < len(lines) && strings.HasPrefix(lines[i+1], "|") {
				i++
			}
			out.WriteString(tableForManual(lines[first : i+1]))
		case strings.HasPrefix(line, "!["):
		default:
			out.WriteString(lineForManual(line) + "\n")
		}
	}
	return out.String()
}

// webLink is a link to a place of the project.
var webLink = regexp.MustCompile(`\[([^\]]+)\]\((?:[^():]+|#[^()]*)\)`)

// pageReference is the name of another page.
var pageReference = regexp.MustCompile(`^[\w.-]+\(\d\)$`)

func lineForManual(line string) string {
	if heading, ok := strings.CutPrefix(line, "## "); ok {
		line = "# " + strings.ToUpper(heading)
	}
	return webLink.ReplaceAllStringFunc(line, func(link string) string {
		text := webLink.FindStringSubmatch(link)[1]
		if pageReference.MatchString(text) {
			return "**" + text + "**"
		}
		return text
	})
}
