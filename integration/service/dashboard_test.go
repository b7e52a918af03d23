//go:build jvsfs_dashboard

package service

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// drawnPanel is what scripts/dashboard/render.mjs tells of a panel that was drawn.
type drawnPanel struct {
	ID          int
	Title, Text string
	Errors      []string
	Queried     []int // series of each query
	Numbers     int
	Painted     int // pixels with a colour
	Series      []struct{ Name, Last string }
}

// drawnDashboard is a report of render.mjs.
type drawnDashboard struct {
	Errors    []string
	Variables map[string][]string
	Panels    []drawnPanel
}

func readReport(t *testing.T, file string) (d drawnDashboard, panels map[string]drawnPanel) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(harness.ReadText(t, file)), &d))
	panels = map[string]drawnPanel{}
	for _, p := range d.Panels {
		panels[fmt.Sprint(p.ID)] = p
	}
	return d, panels
}

// faults are what is wrong with a drawn panel.
func (p drawnPanel) faults(kind string) (all []string) {
	all = slices.Clone(p.Errors)
	if len(p.Queried) == 0 || slices.Contains(p.Queried, 0) {
		all = append(all, fmt.Sprintf("a query found nothing: %v", p.Queried))
	}
	if p.Numbers == 0 || strings.Contains(p.Text, "No data") {
		all = append(all, "no data")
	}
	const dot = 9 // pixels of a single point
	if kind != "table" && p.Painted < dot {
		all = append(all, "nothing was drawn")
	}
	return all
}

// breaks are mistakes in a dashboard, by the number of the panel that has it. Each must be found.
var breaks = map[string]struct {
	make  func(panel map[string]any)
	fault string
}{
	"2":  {func(p map[string]any) { p["type"] = "statistic" }, "type statistic is not known"},
	"6":  {func(p map[string]any) { defaults(p)["unit"] = "refusals" }, "unit refusals is not known"},
	"12": {func(p map[string]any) { query(p)["expr"] = `sum(jvsfs_lease_state{instance=~"$machine"})` }, "a variable is not known"},
	"15": {func(p map[string]any) { query(p)["expr"] = "jvsfs_no_such_metric" }, "no data"},
	"19": {func(p map[string]any) { query(p)["expr"] = "sum by (class) (rate(" }, "parse error"},
	"29": {func(p map[string]any) { p["transformations"] = []any{map[string]any{"id": "organise"}} }, `"organise" not found`},
}

func defaults(panel map[string]any) map[string]any {
	return panel["fieldConfig"].(map[string]any)["defaults"].(map[string]any)
}

func query(panel map[string]any) map[string]any {
	return panel["targets"].([]any)[0].(map[string]any)
}

// brokenDashboard is the dashboard with the mistakes.
func brokenDashboard(t *testing.T) (file string) {
	t.Helper()
	var d map[string]any
	require.NoError(t, json.Unmarshal([]byte(harness.ReadText(t, filepath.Join(monitoring, "jvsfs.json"))), &d))
	broken := 0
	for _, p := range d["panels"].([]any) {
		panel := p.(map[string]any)
		if b, is := breaks[fmt.Sprint(panel["id"])]; is {
			b.make(panel)
			broken++
		}
	}
	require.Len(t, breaks, broken, "a panel of that number is no more")
	text, err := json.Marshal(d)
	require.NoError(t, err)
	file = filepath.Join(t.TempDir(), "broken.json")
	require.NoError(t, os.WriteFile(file, text, 0o644))
	return file
}

// The dashboard is drawn in Chromium by the components that Grafana publishes, over a minute of two mounts that a
// real Prometheus has scraped (scripts/dashboard/story.sh). Every query of every panel finds something, and what a
// panel shows is what /metrics says. A dashboard with mistakes does not pass.
func TestDashboardIsDrawn(t *testing.T) {
	require.NotEmpty(t, os.Getenv("RENDERER"), "scripts/dashboard-test.sh runs this test")
	t.Setenv("BROKEN", brokenDashboard(t))
	base := runOnMachine(t, `. "$CHECKOUT/scripts/dashboard/story.sh"`)
	made := func(name string) string { return filepath.Join(base, "machine", name) }

	all, panels := readReport(t, made("report.json"))
	require.Empty(t, all.Errors)
	require.Equal(t, []string{"/srv/notes", "/srv/team"}, all.Variables["mountpoint"])
	kinds := 0
	for _, p := range readDashboard(t).Panels {
		if p.Type != "row" {
			require.Empty(t, panels[fmt.Sprint(p.ID)].faults(p.Type), p.Title)
			kinds++
		}
	}
	require.Equal(t, kinds, len(panels))
	sameAsMetrics(t, panels, made("metrics"))

	_, broken := readReport(t, made("broken/report.json"))
	for id, p := range broken {
		faults := p.faults("")
		if b, is := breaks[id]; is {
			require.Contains(t, strings.Join(faults, "\n"), b.fault, p.Title)
		}
	}
	require.Equal(t, slices.Sorted(maps.Keys(panels)), slices.Sorted(maps.Keys(broken)), "one broken panel hides no other")
	if dir := os.Getenv("JVSFS_PICTURES"); dir != "" {
		picture, err := os.ReadFile(made("dashboard.png"))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "dashboard.png"), picture, 0o644))
	}
}

// sameAsMetrics: the numbers of the panels are those that the exporter told when they were drawn.
func sameAsMetrics(t *testing.T, panels map[string]drawnPanel, file string) {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	told, err := parser.TextToMetricFamilies(bytes.NewReader([]byte(harness.ReadText(t, file))))
	require.NoError(t, err)
	sum := func(metric string, values ...string) float64 {
		v, n := valueOf(told[metric], values...)
		require.NotZero(t, n, metric)
		return v
	}
	shows := func(id string, want float64) {
		t.Helper()
		require.Equal(t, fmt.Sprintf("%s\n%v", panels[id].Title, want), panels[id].Text)
	}
	shows("2", sum("jvsfs_up"))
	shows("3", 2-sum("jvsfs_up"))
	shows("4", sum("jvsfs_lease_state", "held"))
	shows("5", sum("jvsfs_lease_waiters"))
	require.Contains(t, panels["9"].Text, "dead", "one was, for a while")
	require.Contains(t, panels["10"].Text, "observe")
	for _, id := range []string{"9", "10"} {
		for _, s := range panels[id].Series {
			require.Contains(t, []string{"serving", "enforce"}, s.Last, s.Name)
		}
	}
	for _, class := range labelsOf(told["jvsfs_refusals_total"], "class") {
		require.Contains(t, panels["19"].Text, class)
	}
	for _, release := range append(labelsOf(told["jvsfs_build_info"], "version"), labelsOf(told["jvsfs_build_info"], "mountpoint")...) {
		require.Contains(t, panels["29"].Text, release)
	}
}

// labelsOf are the values of a label.
func labelsOf(f *dto.MetricFamily, name string) (all []string) {
	for _, m := range f.GetMetric() {
		for _, l := range m.Label {
			if l.GetName() == name {
				all = append(all, l.GetValue())
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
