// Package cases records what a file system does, case by case. Each case runs in a directory of its own and
// notes what it saw. Two directories are alike if their notes are. Nothing here says what the right answer is;
// a native directory does.
package cases

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/jvsfs/jvsfs/integration/operation"
)

// Case is one story.
type Case struct {
	Name string // topic/what, unique
	// Slow cases are left out of a quick run.
	Slow bool
	// Alone cases load the machine, depend on timing or start programs, so nothing runs
	// beside them: a program that is just starting still has everybody's descriptors.
	Alone bool
	Run   func(*Trial)
}

// Trial is one run of a case in one directory.
type Trial struct {
	Dir    string // absolute; exists, is empty, and may be written by anybody
	notes  []string
	actors map[string]*actor
	box    *operation.Box // what the operations of its script have open
	undo   []func()
}

// Note notes an observation. It must not contain anything that differs from run to run.
func (t *Trial) Note(format string, args ...any) {
	t.notes = append(t.notes, fmt.Sprintf(format, args...))
}

// Result notes the outcome of a call.
func (t *Trial) Result(what string, err error) { t.Note("%s: %s", what, errnoOf(err)) }

// At is a path in the trial's directory.
func (t *Trial) At(name ...string) string {
	return filepath.Join(append([]string{t.Dir}, name...)...)
}

// Later runs f at the end, the last first.
func (t *Trial) Later(f func()) { t.undo = append(t.undo, f) }

// All returns every case, sorted by name.
func All() []Case {
	var all []Case
	for _, some := range families() {
		all = append(all, some()...)
	}
	slices.SortFunc(all, func(a, b Case) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Sample returns up to n cases of each topic, from everywhere in it, that are neither
// slow nor alone.
func Sample(n int) (some []Case) {
	topics := make(map[string][]Case)
	for _, c := range All() {
		if !c.Slow && !c.Alone {
			topics[Topic(c.Name)] = append(topics[Topic(c.Name)], c)
		}
	}
	for _, topic := range slices.Sorted(maps.Keys(topics)) {
		of := topics[topic]
		for i := range min(n, len(of)) {
			some = append(some, of[i*len(of)/min(n, len(of))])
		}
	}
	return some
}

// families make the cases, one function a topic.
func families() []func() []Case {
	return []func() []Case{
		ownerCases,
		modeCases,
		timeCases,
		accessCases,
		pathCases,
		privilegeCases,
		capabilityCases,
		randomCases,
		renameCases,
		stickyCases,
		specialCases,
		storyCases,
	}
}

// Outcome is what one case has noted.
type Outcome struct{ Case, Notes string }

// Run runs cases below dir, some at a time, and tells each outcome as it comes.
func Run(dir string, which []Case, workers int, tell func(Outcome)) {
	jobs := make(chan int)
	var wg sync.WaitGroup
	var mu sync.Mutex
	run := func(i int) {
		o := Outcome{which[i].Name, runOne(dir, i, which[i])}
		mu.Lock()
		defer mu.Unlock()
		tell(o)
	}
	for range workers {
		wg.Go(func() {
			for i := range jobs {
				run(i)
			}
		})
	}
	for i, c := range which {
		if !c.Alone {
			jobs <- i
		}
	}
	close(jobs)
	wg.Wait()
	for i, c := range which {
		if c.Alone {
			run(i)
		}
	}
}

// runOne makes the directory of a case, runs the case and removes the directory. Files that cannot be removed
// are part of the outcome.
func runOne(dir string, i int, c Case) string {
	t := &Trial{Dir: filepath.Join(dir, fmt.Sprintf("case-%05d", i)), box: operation.NewBox("")}
	if err := os.Mkdir(t.Dir, 0o777); err != nil {
		return "no directory: " + errnoOf(err)
	}
	if err := os.Chmod(t.Dir, 0o777); err != nil {
		return "no directory: " + errnoOf(err)
	}
	t.guarded(c.Run)
	for _, f := range slices.Backward(t.undo) {
		f()
	}
	t.box.Drop()
	t.dismiss()
	if err := removeTree(t.Dir); err != nil {
		t.Note("cannot be removed: %s", errnoOf(err))
	}
	return strings.Join(t.notes, " | ")
}

// guarded turns a panic into a note: one broken case must not end the others.
func (t *Trial) guarded(run func(*Trial)) {
	defer func() {
		if p := recover(); p != nil {
			t.Note("panic: %v", p)
		}
	}()
	run(t)
}

// removeTree removes a tree whatever flags its files have.
func removeTree(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && (d.IsDir() || d.Type().IsRegular()) {
			_ = operation.NewBox("").Perform(operation.Command{Op: "chattr", Path: path})
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// errnoOf names an error as the C library does; success is "ok".
func errnoOf(err error) string { return cmp.Or(operation.ErrnoName(err), "ok") }
