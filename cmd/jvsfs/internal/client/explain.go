package client

import (
	"context"
	"encoding/json"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/gate/process"
)

// Explain asks the daemon of a mounted target whether a process may write there.
func Explain(ctx context.Context, t Target, who api.Process) (api.Explanation, error) {
	pidfd, err := process.OpenPidfd(who.PID)
	if err != nil {
		return api.Explanation{}, api.NoProcess(who.PID, err)
	}
	defer host.CloseFile(pidfd)
	resp, err := Ask(ctx, t.Mount, api.Explain{Where: api.Where{Path: t.Rel}, Process: who}, pidfd, nil)
	if err != nil {
		return api.Explanation{}, err
	}
	x := api.Explanation{Mounted: true, Mountpoint: t.Mount.Mountpoint}
	err = json.Unmarshal(resp.Result, &x)
	x.Path = t.Path
	return x, err
}
