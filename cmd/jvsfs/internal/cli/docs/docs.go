//go:build jvsfs_docs

// Manual pages and completion scripts are made from the commands themselves:
//
//	go run -tags jvsfs_docs ./cmd/jvsfs docs DIR
//
// This is behind a build tag because a renderer of Markdown has no business in a
// daemon that runs as root; the packager runs it once (scripts/package.sh).

package docs

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/cpuguy83/go-md2man/v2/md2man"
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/usage"
)

// Sections of the manual.
const (
	userSection  = "1"
	adminSection = "8"
)

// adminCommands, and their subcommands, are for people who run a mount. The others are for people who work in
// one: lock, exec, run, explain, status, top.
var adminCommands = []string{"mount", "umount", "recover", "enforce", "doctor", "audit", "config", "rules", "exporter", "fence-check"}

// sectionOf is the section of the manual for a command.
func sectionOf(cmd *cobra.Command) string {
	if slices.Contains(adminCommands, topCommand(cmd)) {
		return adminSection
	}
	return userSection
}

// Commands is the hidden command that writes the manual of the commands that newRoot makes.
func Commands(newRoot func() *cobra.Command) []*cobra.Command {
	return []*cobra.Command{{
		Use: "docs DIR", Hidden: true, Short: "Write manual pages, completions and an example configuration to DIR",
		Args: usage.Args(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error { return writeDocs(newRoot, args[0]) },
	}}
}

// writeDocs makes DIR/man, DIR/completions and DIR/examples. Dates are those of
// SOURCE_DATE_EPOCH where it is set, so that a build can be repeated.
func writeDocs(newRoot func() *cobra.Command, dir string) error {
	for _, part := range []struct {
		name  string
		write func(root *cobra.Command, dir string) error
	}{
		{"man", writeCommandPages}, {"man", writeTemplatePages},
		{"completions", writeCompletions}, {"examples", writeExample},
	} {
		to := filepath.Join(dir, part.name)
		if err := os.MkdirAll(to, 0o755); err != nil {
			return err
		}
		if err := part.write(documented(newRoot()), to); err != nil {
			return err
		}
	}
	return nil
}

// documented is the command tree in the form that its pages want.
func documented(root *cobra.Command) *cobra.Command {
	root.DisableAutoGenTag = true
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	root.InitDefaultVersionFlag()
	return root
}

// writeCommandPages writes a page for each command that people may call.
func writeCommandPages(cmd *cobra.Command, dir string) error {
	if cmd.Name() == "help" || cmd.HasParent() && !cmd.IsAvailableCommand() {
		return nil
	}
	for _, c := range cmd.Commands() {
		if err := writeCommandPages(c, dir); err != nil {
			return err
		}
	}
	page, err := commandPage(cmd)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, pageName(cmd)), page, 0o644)
}

func pageName(cmd *cobra.Command) string {
	return manualName(cmd) + "." + sectionOf(cmd)
}

func manualName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// commandPage is the page that cobra makes. The sections that cobra does not know come before its list of other
// pages.
func commandPage(cmd *cobra.Command) ([]byte, error) {
	cmd.InitDefaultHelpFlag()
	cmd.NonInheritedFlags().VisitAll(sayFlag)
	var page bytes.Buffer
	header := &doc.GenManHeader{Section: sectionOf(cmd), Source: source(), Manual: manualOf[sectionOf(cmd)]}
	if err := doc.GenMan(cmd, header, &page); err != nil {
		return nil, err
	}
	before, after, found := bytes.Cut(page.Bytes(), []byte("\n.SH SEE ALSO\n"))
	if !found {
		return nil, fmt.Errorf("%s: the page has no section of other pages", cmd.CommandPath())
	}
	more := "# EXIT STATUS\nSee **jvsfs(1)**.\n"
	if !cmd.HasParent() {
		more = exitStatus() + filesSection
	}
	also := referToSections(cmd.Root(), bytes.TrimRight(after, "\n"))
	for _, other := range otherPages(cmd) {
		also = append(also, ", \\fB"+other+"\\fP"...)
	}
	return slices.Concat(listFlags(before), []byte("\n"), render(more), []byte(".SH SEE ALSO\n"), also, []byte("\n")), nil
}

// otherPages are pages that belong to no command, and to which the page of a command refers.
func otherPages(cmd *cobra.Command) []string {
	switch top := topCommand(cmd); top {
	case "jvsfs":
		return []string{"mount.fuse.jvsfs(8)", "jvsfs.yaml(5)", "jvsfs-guarantees(7)", "jvsfs-lease(7)", "jvsfs-hosts(7)", "jvsfs-fence(7)", "jvsfs-layouts(7)",
			"jvsfs-rules(7)", "jvsfs-operations(7)", "jvsfs-agents(7)", "jvsfs-json(7)", "jvsfs-performance(7)", "jvsfs-testing(7)"}
	case "mount", "config":
		return []string{"jvsfs.yaml(5)", "jvsfs-layouts(7)", "jvsfs-operations(7)"}
	case "rules":
		return []string{"jvsfs-rules(7)", "jvsfs.yaml(5)"}
	case "fence-check":
		return []string{"jvsfs-fence(7)", "jvsfs.yaml(5)"}
	case "lock", "exec", "audit":
		return []string{"jvsfs-lease(7)"}
	case "run", "mcp", "hook":
		return []string{"jvsfs-agents(7)", "jvsfs-lease(7)"}
	default:
		return []string{"jvsfs-operations(7)"}
	}
}

// topCommand is the name of the command just below jvsfs: cmd itself, or the one to which it belongs.
func topCommand(cmd *cobra.Command) string {
	for cmd.HasParent() && cmd.Parent().HasParent() {
		cmd = cmd.Parent()
	}
	return cmd.Name()
}

// commandReference matches a reference to another command's page. cobra gives it the section of the page
// itself.
var commandReference = regexp.MustCompile(`(jvsfs(?:-[a-z]+)*)\(\d\)`)

// referToSections gives each reference the section of the page to which it refers.
func referToSections(root *cobra.Command, page []byte) []byte {
	sections := map[string]string{}
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		sections[manualName(cmd)] = sectionOf(cmd)
		for _, c := range cmd.Commands() {
			walk(c)
		}
	}
	walk(root)
	return commandReference.ReplaceAllFunc(page, func(reference []byte) []byte {
		name := string(commandReference.FindSubmatch(reference)[1])
		return []byte(name + "(" + sections[name] + ")")
	})
}

func source() string { return "jvsfs " + api.Version() }

// render turns sections of a page into roff. It adds a title, because md2man would take the first heading for
// one.
func render(markdown string) []byte {
	page := md2man.Render([]byte("% \"-\" \"8\"\n" + markdown))
	return page[bytes.Index(page, []byte("\n.SH"))+1:]
}

// flagParagraph is how cobra writes a flag: a paragraph with a tab in it, and for a
// switch "[=false]".
var flagParagraph = regexp.MustCompile(`(?m)^\.PP\n(\\fB-.*?)(?:\[=false\])?\n\t`)

// listFlags makes a list of the flags, with their names as tags.
func listFlags(page []byte) []byte {
	page = bytes.Replace(page, []byte(".SH OPTIONS\n"), []byte(".SH OPTIONS\n.PP\n"), 1)
	return flagParagraph.ReplaceAll(page, []byte(".TP\n$1\n"))
}

// placeholderValue shows a flag as --name=PLACEHOLDER; a value of the type "string"
// would be shown in quotes.
type placeholderValue struct{ pflag.Value }

func (placeholderValue) Type() string { return "placeholder" }

// sayFlag puts the placeholder of a flag that takes a value in the place where cobra
// shows the default, and the default into the sentence.
func sayFlag(f *pflag.Flag) {
	if f.NoOptDefVal != "" {
		return
	}
	name, usage := pflag.UnquoteUsage(f)
	if def := f.DefValue; def != "" && def != "0" && def != "0s" {
		usage += " (default " + def + ")"
	}
	f.DefValue, f.Usage, f.Value = name, usage, placeholderValue{f.Value}
}

// exitStatus lists the exit codes with the classes that have them.
func exitStatus() string {
	var b strings.Builder
	b.WriteString("# EXIT STATUS\n")
	for _, row := range api.Exits {
		var classes []string
		for _, class := range row.Classes {
			classes = append(classes, string(class))
		}
		slices.Sort(classes)
		fmt.Fprintf(&b, "**%d**\n: %s\n\n", row.Code, strings.TrimSpace(row.Text+" "+strings.Join(classes, ", ")))
	}
	return b.String()
}

// writeCompletions writes the scripts under the names by which the shells find them.
func writeCompletions(root *cobra.Command, dir string) error {
	return cmp.Or(
		root.GenBashCompletionFileV2(filepath.Join(dir, "jvsfs.bash"), true),
		root.GenZshCompletionFile(filepath.Join(dir, "_jvsfs")),
		root.GenFishCompletionFile(filepath.Join(dir, "jvsfs.fish"), true),
	)
}
