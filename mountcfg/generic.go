package mountcfg

import "strings"

const keyEnforce = "enforce"

// Attributes of the mount itself, by their keys.
const (
	attrReadOnly    = "ro"
	attrNoSUID      = "nosuid"
	attrNoDev       = "nodev"
	attrNoExec      = "noexec"
	attrNoSymFollow = "nosymfollow"
)

// generic is the meaning of an option that mount(8) knows for every file system, or libfuse for
// every FUSE file system. The zero value is accepted and does nothing.
type generic struct {
	set    []string // attributes that it sets
	clear  []string // attributes that it clears if the same string has set them before
	valued bool     // it may have a value, which is ignored
	refuse string   // why it is refused, and what to use instead
}

const (
	whySync   = "jvsfs passes every write on at once, and the backing file system decides when it is durable: mount that one with it"
	whyFsname = "the mount table names the directory that is guarded"
	whyBind   = "mount(8) does that without a helper: mount --bind, mount --move"
)

// generics follow mount(8) and the tables of libmount/src/optmap.c of util-linux. mount(8) passes
// rw with every mount that is not ro, and mount.fuse3 adds dev and suid. So an option that clears
// an attribute does not override the configuration file.
var generics = map[string]generic{
	attrReadOnly: {set: []string{attrReadOnly}}, "rw": {clear: []string{attrReadOnly}},
	attrNoSUID: {set: []string{attrNoSUID}}, "suid": {clear: []string{attrNoSUID}},
	attrNoDev: {set: []string{attrNoDev}}, "dev": {clear: []string{attrNoDev}},
	attrNoExec: {set: []string{attrNoExec}}, "exec": {clear: []string{attrNoExec}},
	attrNoSymFollow: {set: []string{attrNoSymFollow}}, "symfollow": {clear: []string{attrNoSymFollow}},

	// Whoever lets users mount does not trust what they mount. user=NAME is mount(8)'s own note of
	// who has mounted.
	"user":   {set: []string{attrNoSUID, attrNoDev, attrNoExec}, valued: true},
	"users":  {set: []string{attrNoSUID, attrNoDev, attrNoExec}},
	"owner":  {set: []string{attrNoSUID, attrNoDev}},
	"group":  {set: []string{attrNoSUID, attrNoDev}},
	"nouser": {}, "nousers": {}, "noowner": {}, "nogroup": {},

	"defaults": {}, "auto": {}, "noauto": {}, "nofail": {}, "_netdev": {}, "comment": {valued: true},
	"async": {}, "silent": {}, "loud": {}, "noiversion": {}, "nomand": {},

	// The kernel's FUSE client keeps no access times, whatever the options say.
	"atime": {}, "noatime": {}, "diratime": {}, "nodiratime": {}, "relatime": {}, "norelatime": {},
	"strictatime": {}, "nostrictatime": {}, "lazytime": {}, "nolazytime": {},

	// Of libfuse: always on.
	"allow_other": {}, "default_permissions": {}, "nonempty": {},

	"remount": {refuse: "a mount keeps its options: unmount it and mount it again; what mount(8) can change by itself it does with remount,bind"},
	"sync":    {refuse: whySync}, "dirsync": {refuse: whySync},
	"bind": {refuse: whyBind}, "rbind": {refuse: whyBind}, "move": {refuse: whyBind},
	"mand":         {refuse: "Linux has no mandatory locks any more"},
	"auto_unmount": {refuse: "a mount whose daemon has died must stay and refuse everything; see jvsfs recover"},
	"allow_root":   {refuse: "everybody may enter, as far as the permissions of the files go"},
	"fsname":       {valued: true, refuse: whyFsname}, "subtype": {valued: true, refuse: whyFsname},
}

// attributes are the attributes of the table, in the order in which they are written.
var attributes = []string{attrReadOnly, attrNoSUID, attrNoDev, attrNoExec, attrNoSymFollow}

// findGeneric also knows options for other programs: x-* is for anybody, X-* for mount(8).
func findGeneric(name string) (generic, bool) {
	if strings.HasPrefix(name, "x-") || strings.HasPrefix(name, "X-") {
		return generic{valued: true}, true
	}
	g, ok := generics[name]
	return g, ok
}
