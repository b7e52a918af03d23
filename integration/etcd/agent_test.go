//go:build jvsfs_hosts

package etcd

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// asking is a fence agent that asks the test to switch a host's power off, and waits until it has.
const asking = `#!/bin/sh
cd "$(dirname "$0")" || exit 1
ask=$(mktemp ask-XXXXXXXX) || exit 1
cat >"$ask" && mv "$ask" "$ask.ask" || exit 1
until [ -e "$ask.off" ]; do sleep 0.05; done
`

// agent switches power off. A daemon that is killed is all that is left of its host's way to the store, here.
type agent struct {
	w       *world
	program string
	fenced  int // read it when the world has ended
}

func newAgent(w *world) *agent {
	dir := harness.NewBase(w.t)
	a := &agent{w: w, program: filepath.Join(dir, "agent")}
	require.NoError(w.t, os.WriteFile(a.program, []byte(asking), 0o755)) //nolint:gosec // it is run
	ctx, stop := context.WithCancel(context.Background())
	over := make(chan struct{})
	w.t.Cleanup(func() { stop(); <-over })
	go func() {
		defer close(over)
		for ctx.Err() == nil {
			asked, _ := filepath.Glob(filepath.Join(dir, "*.ask"))
			for _, ask := range asked {
				a.switchOff(strings.TrimSuffix(ask, ".ask"))
			}
			wait(ctx, 20*time.Millisecond)
		}
	}()
	return a
}

var nodeName = regexp.MustCompile(`(?m)^nodename=(.*)$`)

func (a *agent) switchOff(name string) {
	text, err := os.ReadFile(name + ".ask")
	if err != nil || os.Remove(name+".ask") != nil {
		return
	}
	node := nodeName.FindSubmatch(text)
	if node == nil {
		return
	}
	for _, h := range a.w.hosts {
		if h.Name != string(node[1]) {
			continue
		}
		// KILL ends a stopped process, too. What it had begun has ended or will never when it is gone.
		_, _ = h.Run("sh", "-c", "for p in "+strings.Join(a.w.daemons(h), " ")+"; do kill -KILL $p; while [ -d /proc/$p/task/$p/fd ] && ls /proc/$p/task/$p/fd | grep -q .; do sleep 0.01; done; done; true")
		a.fenced++
		_ = os.WriteFile(name+".off", nil, 0o600)
	}
}
