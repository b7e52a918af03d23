package cli

import "github.com/spf13/cobra"

// examples are the examples of help and manual pages, by command line. They are
// together because they tell one story: a repository at /srv/repo.
var examples = map[string]string{
	"jvsfs": `  jvsfs mount /srv/repo                # guard main and each of worktrees/*, in place
  jvsfs exec /srv/repo/main -- make    # hold the lease of main for make
  jvsfs explain /srv/repo/main/README  # why can I not write there?
  jvsfs umount /srv/repo`,
	"jvsfs mount": `  jvsfs mount /srv/repo
  jvsfs mount --config /etc/jvsfs/repo.yaml
  jvsfs mount --enforce observe --foreground /srv/data /mnt/data`,
	"jvsfs umount": `  jvsfs umount /srv/repo`,
	"jvsfs lock acquire": `  jvsfs lock acquire /srv/repo/main             # for this shell and its descendants
  jvsfs lock acquire --wait 1m --purpose "release 1.4" /srv/repo/main
  jvsfs lock acquire --pid 4711 /srv/repo/main  # for another process`,
	"jvsfs lock renew":   `  jvsfs lock renew /srv/repo/main`,
	"jvsfs lock release": `  jvsfs lock release /srv/repo/main`,
	"jvsfs lock steal":   `  jvsfs lock steal /srv/repo/main`,
	"jvsfs lock status": `  jvsfs lock status /srv/repo/main
  jvsfs lock status --json /srv/repo/main | jq .fencing_token`,
	"jvsfs exec": `  jvsfs exec /srv/repo/main -- make install
  jvsfs exec --wait 10m /srv/repo/main -- git rebase origin/main`,
	"jvsfs run": `  jvsfs run -- make                                       # in this directory
  jvsfs run --worktree fix1 --diff /srv/project -- agent  # in a git worktree of its own`,
	"jvsfs status": `  jvsfs status
  jvsfs status --json | jq '.mounts[].worktrees[]'`,
	"jvsfs watch": `  jvsfs watch
  jvsfs watch --locks /srv/repo
  jvsfs watch --json --since 0 /srv/repo | jq -c 'select(.event == "refused")'`,
	"jvsfs explain": `  jvsfs explain /srv/repo/main/README
  jvsfs explain --pid 4711 /srv/repo/main`,
	"jvsfs hook": `  jvsfs hook /srv/repo/main/README
  jvsfs hook <event.json      # what a harness passes`,
	"jvsfs mcp": `  jvsfs mcp                   # started by a harness; see jvsfs-agents(7)`,
	"jvsfs exporter": `  jvsfs exporter                                  # at http://127.0.0.1:9747/metrics
  jvsfs exporter --listen unix:/run/jvsfs-exporter.sock,mode=0660`,
	"jvsfs layout": `  jvsfs layout /srv/repo/main/README /srv/repo/.jvs`,
	"jvsfs rules": `  jvsfs rules
  jvsfs rules /srv/repo       # those in force there`,
	"jvsfs rules learn": `  jvsfs rules learn /srv/data -- nightly >/srv/rules.yaml
  jvsfs rules learn /srv/data --runs 3 -- make`,
	"jvsfs rules open": `  jvsfs rules open /srv/repo/data/events.log              # for this session, 15 minutes
  jvsfs rules open --yes --for 1m /srv/repo/data -- sh fix.sh`,
	"jvsfs rules close": `  jvsfs rules close /srv/repo/data/events.log`,
	"jvsfs rules show":  `  jvsfs rules show git`,
	"jvsfs rules test": `  jvsfs rules test git .git/index .git/index.lock
  jvsfs rules test ./rules.yaml builds/out/app`,
	"jvsfs doctor": `  jvsfs doctor
  jvsfs doctor --strict --json /srv/repo
  jvsfs doctor --repair /srv/repo`,
	"jvsfs fence-check":  `  jvsfs fence-check --config /etc/jvsfs/repo.yaml --node spare /mnt/spare`,
	"jvsfs audit verify": `  jvsfs audit verify /srv/repo`,
	"jvsfs audit tail": `  jvsfs audit tail -n 50 /srv/repo
  jvsfs audit tail --follow --json /srv/repo`,
}

// addExamples gives cmd and every command below it its examples.
func addExamples(cmd *cobra.Command) {
	if cmd.Example == "" {
		cmd.Example = examples[cmd.CommandPath()]
	}
	for _, c := range cmd.Commands() {
		addExamples(c)
	}
}
