//go:build jvsfs_docs

package docs

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/cpuguy83/go-md2man/v2/md2man"
	"github.com/spf13/cobra"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/logging"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/place"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/pages"
	"github.com/jvsfs/jvsfs/mountcfg"
)

// pageData is what the templates of pages use.
type pageData struct {
	Date     string // month and year, as cobra has it
	Source   string
	Settings []mountcfg.Setting
}

func writeTemplatePages(_ *cobra.Command, dir string) error {
	date, err := pageDate()
	if err != nil {
		return err
	}
	all, err := template.New("").Option("missingkey=error").ParseFS(pages.Files, "*.md")
	if err != nil {
		return err
	}
	data := pageData{date.Format("Jan 2006"), source(), mountcfg.Settings()}
	for _, t := range all.Templates() {
		name, ok := strings.CutSuffix(t.Name(), ".md")
		if !ok {
			continue // the unnamed root
		}
		var text bytes.Buffer
		if err := t.Execute(&text, data); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), md2man.Render([]byte(forManual(text.String(), data))), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func pageDate() (time.Time, error) {
	epoch := os.Getenv("SOURCE_DATE_EPOCH")
	if epoch == "" {
		return time.Now().UTC(), nil
	}
	sec, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	return time.Unix(sec, 0).UTC(), nil
}

// filesSection is a part of jvsfs(1).
const filesSection = `# FILES
*/etc/jvsfs/NAME.yaml*
: Configuration of the mount that the unit **jvsfs@NAME.service** serves; see **jvsfs.yaml(5)**.

*/run/jvsfs*
: Control sockets of the mounts, and the count of the runs (**jvsfs-run(1)**) that use one.

*.jvs/locks*, *` + place.DefaultControlRoot + `*
: Lease records of a repository, and of directories without **--control**. *#tree.NAME.json*
there says for which directory they are.

*` + logging.Dir + `*
: Logs of daemons in the background, unless **--log-file** names another place.

`

// writeExample writes a configuration with every key, and with its default if it has one.
func writeExample(_ *cobra.Command, dir string) error {
	var b strings.Builder
	b.WriteString("# Configuration of a jvsfs mount; see jvsfs.yaml(5). What is commented out is the default, or not set.\n")
	for _, s := range mountcfg.Settings() {
		fmt.Fprintf(&b, "\n# %s\n", s.Usage)
		switch {
		case s.Key == "source":
			b.WriteString("source: /srv/repo\n")
		case s.Default == "":
			fmt.Fprintf(&b, "# %s: %s\n", s.Key, s.Value)
		default:
			fmt.Fprintf(&b, "#%s: %s\n", s.Key, s.Default)
		}
	}
	b.WriteString("\n# What differs in single worktrees.\n#worktrees:\n#  scratch: {mode: shared}\n")
	return os.WriteFile(filepath.Join(dir, "jvsfs.yaml"), []byte(b.String()), 0o644)
}
