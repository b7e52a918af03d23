package main

import (
	"encoding/json"
	"fmt"

	"github.com/jvsfs/jvsfs/fusefs"
)

// crowding says who has the descriptors of a mount, where one user has so many that others
// may come to feel it: half of his share.
func crowding(st mountStatus) (texts []string, full bool) {
	var stats struct {
		Users     []fusefs.User `json:"users"`
		UserShare int64         `json:"user_share"`
	}
	if json.Unmarshal(st.Statistics, &stats) != nil { // an older daemon, or none
		return nil, false
	}
	for _, u := range stats.Users {
		if u.Descriptors < stats.UserShare/2 {
			continue
		}
		full = full || u.Descriptors >= stats.UserShare
		texts = append(texts, fmt.Sprintf("user %d has %d of the %d descriptors that one may have, %d of them open files", u.UID, u.Descriptors, stats.UserShare, u.Open))
	}
	return texts, full
}

// crowdingFindings tells whom to ask. What the kernel only remembers it gives back.
func crowdingFindings(st mountStatus) []finding {
	var out []finding
	texts, full := crowding(st)
	for _, text := range texts {
		if !full {
			out = append(out, okf("limits.user", "%s: %s", st.Mountpoint, text))
			continue
		}
		out = append(out, warn("limits.user", "have that user close files, or raise the daemon's limit (LimitNOFILE=)", "%s: %s", st.Mountpoint, text))
	}
	return out
}
