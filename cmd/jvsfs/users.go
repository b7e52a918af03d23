package main

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
