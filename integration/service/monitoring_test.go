package service

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

const monitoring = "../../scripts/monitoring"

// promtool must find nothing to say against it.
func promtool(t *testing.T, in string, args ...string) {
	t.Helper()
	cmd := exec.Command("promtool", args...)
	cmd.Stdin = strings.NewReader(in)
	said, err := cmd.CombinedOutput()
	require.NoError(t, err, "%v\n%s", args, said)
}

// alert is one rule of the file of alerts.
type alert struct {
	Alert, Expr         string
	Labels, Annotations map[string]string
}

func alerts(t *testing.T) (all []alert) {
	t.Helper()
	var file struct{ Groups []struct{ Rules []alert } }
	require.NoError(t, yaml.Unmarshal([]byte(harness.ReadText(t, filepath.Join(monitoring, "jvsfs.rules.yml"))), &file))
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	require.NotEmpty(t, all)
	return all
}

// promtool takes the alerts. Each of them fires in one test at least, and stays silent in another. Each says
// what has happened, and what to do.
func TestMonitoringAlertsFireAndStaySilent(t *testing.T) {
	harness.NotInContainer(t, "Prometheus, which is large")
	promtool(t, "", "check", "rules", filepath.Join(monitoring, "jvsfs.rules.yml"))
	promtool(t, "", "test", "rules", filepath.Join(monitoring, "jvsfs.test.yml"))
	type tried struct {
		Name   string `yaml:"alertname"`
		Expect []any  `yaml:"exp_alerts"`
	}
	var file struct {
		Tests []struct {
			Tried []tried `yaml:"alert_rule_test"`
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(harness.ReadText(t, filepath.Join(monitoring, "jvsfs.test.yml"))), &file))
	fires, quiet := map[string]bool{}, map[string]bool{}
	for _, test := range file.Tests {
		for _, one := range test.Tried {
			if len(one.Expect) > 0 {
				fires[one.Name] = true
			} else {
				quiet[one.Name] = true
			}
		}
	}
	for _, a := range alerts(t) {
		require.True(t, fires[a.Alert] && quiet[a.Alert], "%s: fires %v, stays silent %v", a.Alert, fires[a.Alert], quiet[a.Alert])
		require.NotEmpty(t, a.Annotations["summary"], a.Alert)
		require.NotEmpty(t, a.Annotations["action"], a.Alert)
		require.Contains(t, []string{"info", "warning", "critical"}, a.Labels["severity"], a.Alert)
	}
}

// dashboard is what the tests read of the model of a dashboard.
type dashboard struct {
	UID, Title string
	Panels     []struct {
		ID                       int
		Type, Title, Description string
		Datasource               struct{ Type, UID string }
		GridPos                  struct{ X, Y, W, H int }
		Targets                  []struct{ RefID, Expr string }
		FieldConfig              struct {
			Defaults struct{ Thresholds *struct{ Mode string } }
		}
	}
	Templating struct {
		List []struct{ Name, Type, Definition string }
	}
}

func readDashboard(t *testing.T) (d dashboard) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(harness.ReadText(t, filepath.Join(monitoring, "jvsfs.json"))), &d))
	return d
}

// This is what an import demands of the dashboard. TestDashboardIsDrawn draws it, by scripts/dashboard-test.sh.
func TestMonitoringDashboardIsWhole(t *testing.T) {
	d := readDashboard(t)
	require.Equal(t, "jvsfs", d.UID)
	variables := map[string]string{"__rate_interval": "of Grafana"}
	for _, v := range d.Templating.List {
		variables[v.Name] = v.Type
	}
	require.Equal(t, "datasource", variables["datasource"], "the data source is asked for")
	ids, cells := map[int]bool{}, map[[2]int]string{}
	for _, p := range d.Panels {
		require.False(t, ids[p.ID], "%s: its id is taken", p.Title)
		ids[p.ID] = true
		g := p.GridPos
		require.True(t, g.X >= 0 && g.W > 0 && g.H > 0 && g.X+g.W <= 24, p.Title)
		for x := g.X; x < g.X+g.W; x++ {
			for y := g.Y; y < g.Y+g.H; y++ {
				require.Empty(t, cells[[2]int{x, y}], "%s lies over it", p.Title)
				cells[[2]int{x, y}] = p.Title
			}
		}
		if p.Type == "row" {
			continue
		}
		require.Contains(t, []string{"stat", "timeseries", "state-timeline", "table"}, p.Type, p.Title)
		require.NotEmpty(t, p.Description, p.Title)
		if p.Type == "stat" {
			require.NotNil(t, p.FieldConfig.Defaults.Thresholds, "%s: Grafana shows a number in red from 80 on, unless it is told otherwise", p.Title)
		}
		require.Equal(t, []string{"prometheus", "${datasource}"}, []string{p.Datasource.Type, p.Datasource.UID}, p.Title)
		require.NotEmpty(t, p.Targets, p.Title)
		for _, q := range p.Targets {
			for _, name := range regexp.MustCompile(`\$\{?(\w+)`).FindAllStringSubmatch(q.Expr, -1) {
				require.Contains(t, variables, name[1], "%s: %s", p.Title, q.Expr)
			}
		}
	}
}

// queries are all queries of the dashboard with values for its variables, and each selector of the alerts: the
// metric with its labels, without the comparison that is false while all is well.
func queries(t *testing.T) (all []string) {
	t.Helper()
	d := readDashboard(t)
	values := strings.NewReplacer("$__rate_interval", "1m", "$instance", ".*", "$mountpoint", ".*", "$worktree", ".*")
	for _, p := range d.Panels {
		for _, q := range p.Targets {
			all = append(all, values.Replace(q.Expr))
		}
	}
	labels := regexp.MustCompile(`^label_values\((.*), \w+\)$`)
	for _, v := range d.Templating.List {
		if v.Type == "query" {
			require.Regexp(t, labels, v.Definition)
			all = append(all, values.Replace(labels.FindStringSubmatch(v.Definition)[1]))
		}
	}
	for _, a := range alerts(t) {
		found := regexp.MustCompile(`\b(?:jvsfs_\w+|up)\b(?:\{[^}]*\})?`).FindAllString(a.Expr, -1)
		require.NotEmpty(t, found, a.Alert)
		all = append(all, found...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// prometheus is a Prometheus with a directory of its own, which scrapes the exporter.
type prometheus struct {
	*harness.Background
	t   *testing.T
	url string
}

func startPrometheus(m *harness.Mount, exporter string) prometheus {
	m.T.Helper()
	rules, err := filepath.Abs(filepath.Join(monitoring, "jvsfs.rules.yml"))
	require.NoError(m.T, err)
	config := harness.ReadText(m.T, filepath.Join(monitoring, "prometheus.yml"))
	for installed, here := range map[string]string{
		"/usr/share/jvsfs/monitoring/jvsfs.rules.yml": rules,
		"127.0.0.1:9747": strings.TrimSuffix(strings.TrimPrefix(exporter, "http://"), "/metrics"),
	} {
		require.Contains(m.T, config, installed)
		config = strings.ReplaceAll(config, installed, here)
	}
	dir := filepath.Join(m.Base, "prometheus")
	require.NoError(m.T, os.Mkdir(dir, 0o755))
	file := filepath.Join(dir, "prometheus.yml")
	require.NoError(m.T, os.WriteFile(file, []byte("global: {scrape_interval: 2s, evaluation_interval: 2s}\n"+config), 0o644))
	promtool(m.T, "", "check", "config", file)
	p := prometheus{t: m.T, Background: m.Start("prometheus", "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address=127.0.0.1:0")}
	p.url = "http://" + saysWhere(m.T, p.Background, `msg="Listening on" address=(127\.0\.0\.1:[1-9]\d*)`)
	harness.Eventually(m.T, "Prometheus is ready", func() bool {
		status, _ := fetch(m.T, p.url+"/-/ready")
		return status == http.StatusOK
	})
	return p
}

// api asks Prometheus.
func (p prometheus) api(path string, into any) {
	p.t.Helper()
	var answer struct {
		Status string
		Data   json.RawMessage
	}
	require.NoError(p.t, json.Unmarshal([]byte(httpGet(p.t, p.url+"/api/v1/"+path)), &answer))
	require.Equal(p.t, "success", answer.Status)
	require.NoError(p.t, json.Unmarshal(answer.Data, into))
}

// has reports whether a query has a result. One that does not parse fails the test.
func (p prometheus) has(query string) bool {
	p.t.Helper()
	var data struct{ Result []json.RawMessage }
	p.api("query?query="+url.QueryEscape(query), &data)
	return len(data.Result) > 0
}

// A real Prometheus, configured as the package has it, scrapes the exporter. Every query of the dashboard, and
// every metric of the alerts, finds something. The alerts are evaluated, and see a daemon that was killed.
func TestMonitoringQueriesFindDataInPrometheus(t *testing.T) {
	harness.NotInContainer(t, "Prometheus, which is large")
	m, observes := twoMounts(t)
	e, metricsURL := startExporter(m)
	promtool(t, httpGet(t, metricsURL), "check", "metrics")
	p := startPrometheus(m, metricsURL)

	workTogether(m, observes)
	text := httpGet(t, metricsURL)
	promtool(t, text, "check", "metrics")
	require.Regexp(t, `jvsfs_lease_wait_duration_seconds_count\{mountpoint="`+m.Mountpoint+`",result="ok",worktree="source"\} 1\n`, text, "one waited and got it")
	missing := map[string]bool{}
	for _, q := range queries(t) {
		missing[q] = true
		for _, name := range regexp.MustCompile(`\bjvsfs_\w+`).FindAllString(q, -1) {
			family := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(name, "")
			require.Contains(t, text, "# TYPE "+family+" ", q)
		}
	}
	harness.EventuallyNoted(t, "each query has a result", func() (bool, string) {
		for q := range missing {
			if p.has(q) {
				delete(missing, q)
			}
		}
		return len(missing) == 0, strings.Join(slices.Sorted(maps.Keys(missing)), "\n")
	})

	killSecond(observes, daemonOf(observes))
	harness.EventuallyNoted(t, "the alert sees the dead mount, and all alerts are evaluated", func() (bool, string) {
		states, note := p.alertStates()
		for _, a := range alerts(t) {
			if _, evaluated := states[a.Alert]; !evaluated {
				return false, note
			}
		}
		return states["JvsfsMountDead"] == "pending" || states["JvsfsMountDead"] == "firing", note
	})
	terminate(t, p.Background)
	terminate(t, e)
	m.MustCLI("umount", "--bare", observes.Mountpoint)
	observes.Mounted = false
	m.RepairState()
}

// alertStates are the states of the alerts that were evaluated without a mistake.
func (p prometheus) alertStates() (states map[string]string, note string) {
	p.t.Helper()
	var data struct {
		Groups []struct {
			Rules []struct{ Name, State, Health, LastError string }
		}
	}
	p.api("rules", &data)
	states = map[string]string{}
	for _, g := range data.Groups {
		for _, r := range g.Rules {
			require.Empty(p.t, r.LastError, r.Name)
			if r.Health == "ok" {
				states[r.Name] = r.State
			}
		}
	}
	return states, fmt.Sprint(states)
}

// workTogether has a holder at work, a stranger who is refused, one who waits for the lease until he gets it, and
// one who gives up. Afterwards the holder has the lease.
func workTogether(m, observes *harness.Mount) {
	t := m.T
	t.Helper()
	holder, stranger := harness.StartActor(t, "holder"), harness.StartActor(t, "stranger")
	m.Acquire(holder)
	holder.OK(m.Put("f"))
	stranger.Fails(m.Put("f"), "EROFS")
	stranger.OK(observes.Put("f"))
	gaveUp := m.Start(m.Bin, "exec", "--wait", "3s", m.Mountpoint, "--", "true")
	exit, said := gaveUp.Wait()
	require.Equal(t, harness.ExitConflict, exit, said)
	waits := m.Start(m.Bin, "exec", "--wait", "10m", m.Mountpoint, "--", "true")
	saysWhere(t, waits, `(waiting) for`)
	m.Release(holder)
	exit, said = waits.Wait()
	require.Zero(t, exit, said)
	m.Acquire(holder)
	holder.OK(m.Put("f"))
}
