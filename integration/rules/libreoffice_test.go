//go:build jvsfs_programs

package rules

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// LibreOffice is told by its UNO interface what to do with a document that it has open.
const inLibreOffice = `import os, subprocess, sys, time, uno
from com.sun.star.beans import PropertyValue
from com.sun.star.connection import NoConnectException

pipe = 'pipe,name=story;urp'
office = subprocess.Popen(sys.argv[2:] + ['--norestore', '--accept=' + pipe])
local = uno.getComponentContext()
resolver = local.ServiceManager.createInstanceWithContext('com.sun.star.bridge.UnoUrlResolver', local)
context = None
while context is None:
    try:
        context = resolver.resolve('uno:' + pipe + ';StarOffice.ComponentContext')
    except NoConnectException:
        assert office.poll() is None, office.returncode
        time.sleep(0.1)
desktop = context.ServiceManager.createInstanceWithContext('com.sun.star.frame.Desktop', context)
hidden = PropertyValue()
hidden.Name, hidden.Value = 'Hidden', True
document = desktop.loadComponentFromURL(uno.systemPathToFileUrl(os.path.abspath('f.odt')), '_blank', 0, (hidden,))
assert not document.isReadonly()
document.Text.setString('in LibreOffice')
open(sys.argv[1]).read()
document.store()
document.close(True)
desktop.terminate()
sys.exit(office.wait())
`

func (w *work) libreOffice(profile string) string {
	return "soffice --headless -env:UserInstallation=file://" + w.Base + "/" + profile
}

// documentIn has a document. LibreOffice's profiles and temporary files are beside the mount.
func documentIn(t *testing.T) *work {
	w := workUnder(t, "libreoffice", withText("f.txt", "text\n"), withText("edit.py", inLibreOffice))
	w.env += "export TMPDIR=" + w.Base + "; "
	w.does(w.libreOffice("mine") + " --convert-to odt f.txt")
	require.FileExists(t, w.Behind("f.odt"))
	return w
}

// textFor is what a LibreOffice with this profile reads in the document.
func (w *work) textFor(profile string) string {
	w.t.Helper()
	return w.does(w.libreOffice(profile) + " --convert-to txt:Text --outdir " + w.Base + " f.odt >&2 && cat " + w.Base + "/f.txt")
}

// A document that is open in LibreOffice is read by everybody, and changed by nobody else until it is closed.
func TestADocumentOpenInLibreOfficeIsChangedByNobodyElse(t *testing.T) {
	w := documentIn(t)
	goOn, office := w.begins("/usr/bin/python3 edit.py " + w.Base + "/gate " + w.libreOffice("mine"))
	w.guarded("f.odt", ".~lock.f.odt#")
	try(t, w.stranger, []attempt{
		{"it is replaced", harness.Command{Op: "rename", Path: w.At("f.txt"), To: w.At("f.odt")}, "EROFS"},
		{"another file", harness.Command{Op: "writefile", Path: w.At("f.txt"), Data: []byte("x")}, ""},
	})
	require.Contains(t, w.textFor("another"), "text")
	goOn()
	exit, said := office.Wait()
	require.Zero(t, exit, said)
	require.Contains(t, w.textFor("another"), "in LibreOffice")
	require.NoFileExists(t, w.Behind(".~lock.f.odt#"))
	w.stranger.OK(harness.Command{Op: "rename", Path: w.At("f.txt"), To: w.At("f.odt")})
}

// What a killed LibreOffice had open is everybody's again.
func TestADocumentOfAKilledLibreOfficeIsFree(t *testing.T) {
	w := documentIn(t)
	office := w.Start("sh", "-c", "cd "+w.At()+"; "+w.env+
		`set -- `+w.libreOffice("mine")+`; program=$(readlink -f "$(command -v "$1")").bin; shift; exec "$program" "$@" --norestore f.odt`)
	w.guarded("f.odt", ".~lock.f.odt#")
	office.Kill()
	harness.Eventually(t, "its lock is gone", func() bool {
		_, err := os.Lstat(w.Behind(".~lock.f.odt#"))
		return os.IsNotExist(err)
	})
	require.Contains(t, w.textFor("mine"), "text") // this also takes away the socket of the killed one, in /tmp
	w.stranger.OK(harness.Command{Op: "writefile", Path: w.At("f.odt"), Flags: unix.O_TRUNC, Data: []byte("x")})
}
