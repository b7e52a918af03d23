package harness

import "testing"

// HandedOver is what lock handover --json prints (a part of it).
type HandedOver struct {
	From struct {
		HolderID string `json:"holder_id"`
		Token    uint64 `json:"fencing_token"`
	}
	Record Record
}

// Handover hands the lease over as root; it must succeed.
func (m *Mount) Handover(args ...string) (h HandedOver) {
	m.T.Helper()
	RequireJSON(m.T, m.MustCLI(append([]string{"lock", "handover", "--json", m.Mountpoint}, args...)...), &h)
	return h
}

// OfferedTo is the host that a worktree's record offers the lease to; id as HeadClaim
// takes it.
func OfferedTo(t *testing.T, m *Mount, id string) string {
	t.Helper()
	file, _ := m.HeadClaim(id)
	var r struct {
		OfferedTo string `json:"offered_to"`
	}
	RequireJSON(t, ReadText(t, file), &r)
	return r.OfferedTo
}
