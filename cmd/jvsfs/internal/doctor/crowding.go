package doctor

import (
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/client"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/finding"
)

// crowdingFindings names users who have many files open. Inodes that the kernel only caches do not count: it
// gives them back.
func crowdingFindings(st api.MountStatus) []finding.Finding {
	var out []finding.Finding
	texts, full := client.Crowding(st)
	for _, text := range texts {
		if !full {
			out = append(out, finding.OK("limits.user", "%s: %s", st.Mountpoint, text))
			continue
		}
		out = append(out, finding.Warn("limits.user", "have that user close files, or raise the daemon's limit (LimitNOFILE=)", "%s: %s", st.Mountpoint, text))
	}
	return out
}
