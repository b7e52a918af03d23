package top

import (
	"encoding/json"
	"reflect"
	"time"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
)

// snapshot is the status of all mounts at one moment, safe to show: text of daemons, records and processes has
// no control characters any more.
type snapshot struct {
	At     time.Time
	Mounts []api.MountStatus
}

// newSnapshot takes over mounts.
func newSnapshot(at time.Time, mounts []api.MountStatus) snapshot {
	s := snapshot{At: at, Mounts: mounts}
	cleanText(reflect.ValueOf(&s.Mounts).Elem())
	return s
}

// cleanText makes every text in v printable. It walks through all fields, so that none is forgotten.
func cleanText(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(human.Printable(v.String()))
	case reflect.Pointer:
		if !v.IsNil() {
			cleanText(v.Elem())
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 { // JSON, of which only numbers are shown
			return
		}
		for i := range v.Len() {
			cleanText(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() || f.Anonymous {
				cleanText(v.Field(i))
			}
		}
	}
}

// requestsOf is how many requests of the kernel the daemon of a mount has answered.
func requestsOf(m api.MountStatus) (sum uint64) {
	var st struct {
		Requests map[string]uint64 `json:"requests"`
	}
	if json.Unmarshal(m.Statistics, &st) != nil {
		return 0 // of another release, or not serving
	}
	for _, n := range st.Requests {
		sum += n
	}
	return sum
}

// refusalsOf is how many mutations of a mount were refused, or would have been.
func refusalsOf(m api.MountStatus) (sum uint64) {
	for _, w := range m.Worktrees {
		sum += w.Refusals + w.WouldRefuse
	}
	return sum
}
