package api

import (
	"runtime"
	"runtime/debug"
	"sync"
)

// buildInfo is what `version --json` prints; the names are a promise.
type buildInfo struct {
	Version  string `json:"version"`            // the release, or the go command's name of the build
	Commit   string `json:"commit,omitempty"`   // the revision that it was built from
	Modified bool   `json:"modified,omitempty"` // with changes that are not committed
	Time     string `json:"time,omitempty"`     // of the commit
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Protocol int    `json:"protocol"` // of the control socket
}

// BuildOf asks the binary what it was built from.
var BuildOf = sync.OnceValue(func() buildInfo {
	info, _ := debug.ReadBuildInfo()
	return readBuild(info, Version())
})

func readBuild(info *debug.BuildInfo, name string) buildInfo {
	b := buildInfo{Version: name, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Protocol: ProtocolVersion}
	if info == nil {
		info = &debug.BuildInfo{}
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		case "vcs.time":
			b.Time = s.Value
		}
	}
	return b
}

// ReleaseName is the packager's name of this build, "" if it was not packaged.
var ReleaseName string

// Version names this build for people: the release, or the revision that the go command knows.
func Version() string {
	if ReleaseName != "" {
		return ReleaseName
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
