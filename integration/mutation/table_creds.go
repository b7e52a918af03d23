package main

// credentialMutations break that a thread which has acted as a caller is the daemon's again, and that it acts as nobody else meanwhile.
// No rule of the lease is concerned.
var credentialMutations = in("fusefs/creds.go", mutation{
	What: "a thread keeps the user of the last caller",
	Old:  "	defer switchBack(unix.SYS_SETRESUID) // it also gives the capabilities back\n", New: "",
	Tests: []string{"TestAThreadThatActedAsAUserIsTheDaemonsAgain"},
}, mutation{
	What: "a thread keeps the group of the last caller",
	Old:  "		defer switchBack(unix.SYS_SETRESGID)\n", New: "",
	Tests: []string{"TestAThreadThatActedAsAUserIsTheDaemonsAgain"},
}, mutation{
	What: "a thread keeps the umask of the last caller",
	Old:  "		defer unix.Umask(0)\n", New: "",
	Tests: []string{"TestAThreadThatActedAsAUserIsTheDaemonsAgain"},
}, mutation{
	What: "who has no id acts as root",
	Old:  "	if id == unchanged { // nobody's", New: "	if false { // nobody's",
	Tests: []string{"TestAnIDOfNobodyIsRefused"},
}, mutation{
	What: "the umask is left out where it matters",
	Old:  "return c.umask&c.mode != 0", New: "return c.umask&^c.mode != 0",
	Tests: []string{"TestTheUmaskIsSetOnlyForCallsThatUseIt"},
})
