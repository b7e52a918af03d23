package house

import (
	"bufio"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// budget is what each figure may be without standing in the file: methods of a receiver, files of a package, and of a package's arrows
// between files how many in a hundred run backward; functions that a write or a new file runs, and in how many files they are.
// Lines of a room always stand there.
func budget(f Figure) int {
	if f.Name == "new-file" {
		return map[string]int{"functions": 100, "in-files": 35}[f.What]
	}
	return map[string]int{"methods": 60, "files": 40, "backward": 15, "functions": 60, "in-files": 25}[f.What]
}

// step is that of the figures of lines.
const step = 500

// spare is by how much a figure may be above the truth. How busy the machine is changes some ways of a request.
var spare = map[string]int{"lines": 2 * step, "functions": 3, "in-files": 3}

// above is what of the figures is above its budget.
func above(figures map[Figure]int) map[Figure]int {
	high := maps.Clone(figures)
	maps.DeleteFunc(high, func(f Figure, n int) bool { return n <= budget(f) })
	return high
}

// Read reads a file of figures: what, name and number, with tabs between them. Lines that begin with # are left out.
func Read(path string) (map[Figure]int, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // only read
	figures := map[Figure]int{}
	lines := bufio.NewScanner(file)
	for n := 1; lines.Scan(); n++ {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		var f Figure
		var number int
		if _, err := fmt.Sscanf(lines.Text(), "%s\t%s\t%d", &f.What, &f.Name, &number); err != nil {
			return nil, fmt.Errorf("%s:%d: %q is none of what, name and number: %w", path, n, lines.Text(), err)
		}
		figures[f] = number
	}
	return figures, lines.Err()
}

// Compare says what is above its figure, and which figures are higher than they need be. now has what is above its budget.
func Compare(now, figures map[Figure]int) (higher, lower []string) {
	for f, n := range now {
		may, stands := figures[f]
		if !stands {
			may = budget(f)
		}
		switch {
		case n > may:
			higher = append(higher, fmt.Sprintf("%s of %s: %d, and may be %d", f.What, f.Name, n, may))
		case n < may-spare[f.What]:
			lower = append(lower, fmt.Sprintf("%s of %s: %d, and the figure says %d", f.What, f.Name, n, may))
		}
	}
	for f, n := range figures {
		if _, above := now[f]; !above {
			lower = append(lower, fmt.Sprintf("%s of %s: within the budget now, and the figure says %d", f.What, f.Name, n))
		}
	}
	slices.Sort(higher)
	slices.Sort(lower)
	return higher, lower
}

// lower writes the figures again, as they are now, and leaves those of a kind that was not measured. It is an error that one is higher
// than it was.
func lower(path string, now map[Figure]int) error {
	figures, err := Read(path)
	if err != nil {
		return err
	}
	kinds := kindsOf(now)
	measured, kept := split(figures, kinds)
	now = above(now)
	for f, n := range now {
		if f.What == "lines" { // in steps: every change changes lines
			now[f] = (n + step - 1) / step * step
		}
	}
	if higher, _ := Compare(now, measured); len(higher) > 0 {
		return errors.New("nothing is written, because some became more: " + strings.Join(higher, "; "))
	}
	maps.Copy(kept, now)
	text := "# What is above its budget today, and may only become less: see doc.go. What, name and number, with tabs between them.\n"
	for _, f := range slices.SortedFunc(maps.Keys(kept), func(a, b Figure) int { return strings.Compare(a.String(), b.String()) }) {
		text += fmt.Sprintf("%s\t%d\n", f, kept[f])
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// kindsOf says what was measured.
func kindsOf(figures map[Figure]int) map[string]bool {
	kinds := map[string]bool{}
	for f := range figures {
		kinds[f.What] = true
	}
	return kinds
}

// split parts figures into those of the kinds, and the others.
func split(figures map[Figure]int, kinds map[string]bool) (of, others map[Figure]int) {
	of, others = map[Figure]int{}, map[Figure]int{}
	for f, n := range figures {
		if kinds[f.What] {
			of[f] = n
		} else {
			others[f] = n
		}
	}
	return of, others
}
