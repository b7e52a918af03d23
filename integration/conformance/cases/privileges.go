package cases

import "fmt"

// changers are the calls that may clear setuid and setgid bits, or file capabilities. The file is a, the handle
// h is open for reading and writing.
var changers = map[string]string{
	"write": "write h 3", "write-0": "write h 0", "pwrite": "pwrite h 50 3", "ftruncate": "ftruncate h 3", "ftruncate-same": "ftruncate h 9",
	"truncate": "truncate a 3", "open-trunc": "open a wo,trunc", "fallocate": "fallocate h 0 0 9000", "punch": "fallocate h punch 0 4096", "zero": "fallocate h zero 0 5",
	"copy": "copy src 0 h 0 5", "sendfile": "sendfile src h 5", "splice": "splice h 5", "map": "mapwrite h 0 5", "direct": "direct h write 0 4096 0",
	"link": "link a b", "rename": "rename a b", "setxattr": "setxattr a user.k v", "utimens-now": "utimens a now now", "chmod": "chmod a 06777",
	"acl": "setacl a access u:7,U1002:4,g:7,m:7,o:7", "read": "read h 5", "fsync": "fsync h", "append": "setfl h rw,append; write h 3",
}

// privilegeCases also look at the mode again at once: a stale one in a cache would be
// a privilege that is left.
func privilegeCases() []Case {
	var all []Case
	for call, text := range changers {
		for _, mode := range []string{"06777", "04777", "02777", "02767", "06776", "0777"} {
			for _, owner := range []string{"0 0", "1001 1001", "1001 2000", "0 2000", "1002 1002"} {
				for who, id := range map[string]string{"root": "0", "user": "1001", "member": "1001:1001,2000", "no-fsetid": "0-fsetid", "fsetid": "1001+fsetid"} {
					c := script(fmt.Sprintf("privileges/%s/%s/%s/%s", call, mode, owner, who), fmt.Sprintf(
						"fill a 9; fill s 50; open s ro =src; chown a %s; chmod a %s; @%[3]s open a rw =h -- @%[3]s %[4]s; fstat h", owner, mode, id, text))
					c.Slow = mode != "06777" && mode != "02767" || owner != "0 0" && owner != "1001 2000"
					all = append(all, c)
				}
			}
		}
	}
	return all
}

const capSetuid = "security.capability 0x0100000280000000000000000000000000000000"

func capabilityCases() []Case {
	var all []Case
	for call, text := range changers {
		for who, id := range map[string]string{"root": "0", "user": "1001"} {
			all = append(all, script(fmt.Sprintf("capability/%s/%s", call, who), fmt.Sprintf(
				"fill a 9 0777; fill s 50; open s ro =src; @%[2]s open a rw =h; setxattr a %[1]s -- @%[2]s %[3]s; getxattr a security.capability", capSetuid, id, text)))
		}
	}
	return append(all, scripts("capability", `
set-root: fill a 9 -- setxattr a `+capSetuid+`
set-user: fill a 9; chown a 1001 1001 -- @1001 setxattr a `+capSetuid+`; @1001+setfcap setxattr a `+capSetuid+`
remove-user: fill a 9; chown a 1001 1001; setxattr a `+capSetuid+` -- @1001 removexattr a security.capability
`)...)
}
