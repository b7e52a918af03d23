package metrics

import (
	"runtime"
	"time"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/metrics"
	"github.com/jvsfs/jvsfs/fusefs"
	"github.com/jvsfs/jvsfs/gate/tenure"
	"github.com/jvsfs/jvsfs/lease"
)

// The metrics. Their names and labels are a promise. No label has a pid, a path or anything else without a
// bound. Worktrees are bounded: a removed one leaves the metrics once nobody holds it.
var (
	metricBuildInfo = describe("build_info", "Always 1; which release serves.", "version", "goversion")
	metricEnforce   = describe("enforce_mode", "1 for what becomes of a write without the lease: enforce, observe or readonly.", "mode")

	metricOperations = describe("operations_total", "Requests of the kernel by operation; result is ok, absent (no such name or attribute) or error (refusals among them).", "operation", "result")
	metricDuration   = describe("operation_duration_seconds", "From when a request was read until its answer was written.", "operation")

	metricWrites       = describe("writes_total", "Mutations that were let in.", "worktree")
	metricRefusals     = describe("refusals_total", "Mutations that were refused.", "worktree", "operation", "class")
	metricWouldRefuse  = describe("would_refuse_total", "Mutations that went through only because the mount observes.", "worktree", "operation", "class")
	metricMoreRefusals = describe("other_refusals_total", "Refusals of kinds beyond those that are told apart.")
	metricSealed       = describe("sealed_refusals_total", "Mutations that were refused where no worktree is: lock records, names of worktrees.")
	metricInFlight     = describe("writes_in_flight", "Mutations that are let in and not yet done.", "worktree")
	metricWaiting      = describe("writes_waiting", "Mutations that wait: for a lease, or for the outcome of a handover.")
	metricWriteHandles = describe("write_handles", "Files that are open for writing under the lease.", "worktree")
	metricRevoked      = describe("revoked_holders", "Holders that lost their lease and stay out until they acquire again.", "worktree")

	metricState      = describe("lease_state", "1 for the state of the lease, as in status --json.", "worktree", "state")
	metricToken      = describe("lease_fencing_token", "The latest fencing token.", "worktree")
	metricAge        = describe("lease_age_seconds", "Since the lease was taken; 0 while nobody holds it.", "worktree")
	metricLeft       = describe("lease_time_left_seconds", "Until the lease ends unless renewed; 0 while nobody holds it.", "worktree")
	metricRenewals   = describe("lease_renewals_total", "Renewals by this mount; result is ok or failed.", "worktree", "result")
	metricRenewal    = describe("lease_renewal_duration_seconds", "How long renewals took.", "worktree")
	metricWaiters    = describe("lease_waiters", "Who waits in the line for the lease: acquisitions, and writes with wait_on_conflict.", "worktree")
	metricWaited     = describe("lease_wait_duration_seconds", "How long acquisitions waited that found the lease held; result is ok or failed.", "worktree", "result")
	metricAcquired   = describe("lease_acquisitions_total", "Leases taken by this mount while they were free.", "worktree")
	metricSteals     = describe("lease_steals_total", "Leases taken by this mount after another holder had let them expire.", "worktree")
	metricTakeovers  = describe("lease_takeovers_total", "The steals by what made sure that the other holder writes no more; kind is clean (the kernel), fenced (a fence agent) or unclean (its silence alone).", "worktree", "kind")
	metricGate       = describe("lease_gate_losses_total", "Renewals that found the lock of a held lease gone from the store.", "worktree")
	metricRetaken    = describe("lease_gate_retaken_total", "Leases that lost that lock and went on, because nobody had taken it.", "worktree")
	metricSilent     = describe("lease_store_silent_seconds", "Since when the file system of the records owes an answer; 0 while it owes none.", "worktree")
	metricCutOff     = describe("lease_store_cut_off", "1 while the records cannot be read because the client of their store has ended, was evicted, or does not know what is open here.", "worktree")
	metricLooks      = describe("lease_look_duration_seconds", "How long looks for a successor took that follow mutations on a store of several hosts: its latency. One look may serve several mutations.", "worktree")
	metricFences     = describe("fences_total", "Runs of the fence agent, which cuts another host off the store; result is ok or failed.", "worktree", "result")
	metricReleases   = describe("lease_releases_total", "Leases given back by this mount.", "worktree")
	metricLosses     = describe("lease_losses_total", "Leases lost or interrupted by this mount; kind is expired, superseded or renew_failed.", "worktree", "kind")
	metricLate       = describe("late_writes_total", "Writes that took effect after their lease was over, and were not acknowledged.", "worktree")
	metricAuditFails = describe("audit_failures_total", "Lease events that could not be put into the audit chain.", "worktree")

	metricRuleTenures  = describe("rule_tenures_total", "Lock files of a rule that were taken.", "rule")
	metricRuleBreaks   = describe("rule_breaks_total", "Lock files of a rule that were taken from their holder.", "rule")
	metricRuleRefusals = describe("rule_refusals_total", "Mutations that a lock file of a rule refused, or would refuse if the mount did not only observe.", "rule")
	metricRuleHeld     = describe("rule_held", "Lock files of a rule that are held.", "rule")
	metricRuleWindows  = describe("rule_windows_total", "Maintenance windows that were opened where a rule protects something.", "rule")
	metricRuleOpen     = describe("rule_windows_open", "Maintenance windows of them that are open.", "rule")

	metricInodes      = describe("inodes", "Inodes that the kernel remembers.")
	metricInodesMax   = describe("inodes_budget", "Above it the kernel is asked to forget some.")
	metricHandles     = describe("handles", "Open files and directories.")
	metricLongTimes   = describe("promised_names", "Names that the kernel may believe for long.")
	metricLongTimeMax = describe("promised_names_budget", "Above it names are believed for cache_timeout only.")
	metricWatches     = describe("watched_directories", "Directories that are watched for changes from elsewhere.")
	metricWatchesMax  = describe("watched_directories_budget", "Above it changes are seen after cache_timeout.")
	metricDescriptors = describe("descriptors", "Descriptors of inodes and handles.")
	metricDescriptMax = describe("descriptors_budget", "Above it callers get ENFILE.")
	metricMemory      = describe("memory_bytes", "What the daemon has from the system.")
	metricMemoryMax   = describe("memory_budget_bytes", "The daemon works harder to stay below it.")
	metricControl     = describe("control_requests_total", "Requests of the control socket; result is ok or failed.", "request", "result")
	metricControlAway = describe("control_turned_away_total", "Connections to the control socket that were not heard; reason is limit or invalid.", "reason")
	metricLogDropped  = describe("log_lines_suppressed_total", "Log lines that were left out because too many alike came.")
)

const metricsPrefix = "jvsfs_"

// All are the descriptions above.
var All []*metrics.Desc

func describe(name, help string, labels ...string) *metrics.Desc {
	d := &metrics.Desc{Name: metricsPrefix + name, Help: help, Labels: labels}
	All = append(All, d)
	return d
}

// collector makes metrics from the counters at each scrape, so that nothing is counted twice.
type collector struct{ read func() reading }

// Gather is metrics.Source's. It is called by several scrapes at a time.
func (c collector) Gather() ([]*metrics.Family, error) {
	r := c.read()
	var to metrics.Set
	out := sink{&to}
	out.ofMount(r)
	out.ofOperations(r.Timings)
	out.ofRefusals(r)
	out.ofBudgets(r.Stats)
	out.ofEtcd(r.Etcd)
	for _, n := range r.Rules {
		out.ofRule(n)
	}
	for _, w := range r.Worktrees {
		out.ofWorktree(w)
		out.ofLease(w, r.At)
	}
	return to.All()
}

// sink puts metrics into a scrape.
type sink struct{ to *metrics.Set }

func (s sink) counter(d *metrics.Desc, v uint64, labels ...string) {
	s.to.Counter(d, v, labels...)
}

func (s sink) gauge(d *metrics.Desc, v float64, labels ...string) {
	s.to.Gauge(d, v, labels...)
}

// states is one gauge for each of several words, 1 for the one that holds.
func (s sink) states(d *metrics.Desc, now string, all []string, labels ...string) {
	for _, word := range all {
		v := 0.0
		if word == now {
			v = 1
		}
		s.gauge(d, v, append(labels[:len(labels):len(labels)], word)...)
	}
}

func (s sink) ofMount(r reading) {
	s.gauge(metricBuildInfo, 1, api.Version(), runtime.Version())
	s.states(metricEnforce, r.Enforce, []string{"enforce", "observe", "readonly"})
	s.gauge(metricWaiting, float64(r.Waiting))
	s.counter(metricLogDropped, r.Suppressed)
	for k, n := range r.Requests {
		s.counter(metricControl, n, k.op, resultName(k.ok))
	}
	for why, n := range r.TurnedAway {
		s.counter(metricControlAway, n, turnedNames[why])
	}
}

func resultName(ok bool) string {
	if ok {
		return "ok"
	}
	return "failed"
}

func (s sink) ofRule(n tenure.Counts) {
	s.counter(metricRuleTenures, n.Tenures, n.Rule)
	s.counter(metricRuleBreaks, n.Breaks, n.Rule)
	s.counter(metricRuleRefusals, n.Refusals, n.Rule)
	s.gauge(metricRuleHeld, float64(n.Held), n.Rule)
	s.counter(metricRuleWindows, n.Windows, n.Rule)
	s.gauge(metricRuleOpen, float64(n.Open), n.Rule)
}

func (s sink) ofOperations(all []fusefs.Timing) {
	for _, t := range all {
		op := t.Op.String()
		s.counter(metricOperations, t.Count-t.Absent-t.Failed, op, "ok")
		s.counter(metricOperations, t.Absent, op, "absent")
		s.counter(metricOperations, t.Failed, op, "error")
		buckets := make(map[float64]uint64, len(t.Buckets))
		for _, b := range t.Buckets {
			buckets[b.Bound.Seconds()] = b.Count
		}
		s.to.Histogram(metricDuration, t.Count, t.Spent.Seconds(), buckets, op)
	}
}

func (s sink) ofRefusals(r reading) {
	for k, n := range r.Refusals {
		d := metricRefusals
		if k.observed {
			d = metricWouldRefuse
		}
		s.counter(d, n, string(k.worktree), k.op.String(), string(k.class))
	}
	s.counter(metricMoreRefusals, r.MoreRefusals)
	s.counter(metricSealed, r.Stats.SealedRefused)
}

func (s sink) ofBudgets(st fusefs.Stats) {
	for _, g := range []struct {
		d *metrics.Desc
		v int64
	}{
		{metricInodes, st.Inodes}, {metricInodesMax, st.InodeBudget}, {metricHandles, st.Handles},
		{metricLongTimes, st.LongTimeouts}, {metricLongTimeMax, st.LongTimeoutBudget},
		{metricWatches, st.Watches}, {metricWatchesMax, st.WatchBudget},
		{metricDescriptors, st.Descriptors}, {metricDescriptMax, st.DescriptorBudget},
		{metricMemory, int64(st.Memory)}, {metricMemoryMax, st.MemoryBudget},
	} {
		s.gauge(g.d, float64(g.v))
	}
}

func (s sink) ofWorktree(w WorktreeReading) {
	id := string(w.Worktree)
	s.counter(metricWrites, w.Writes, id)
	s.gauge(metricInFlight, float64(w.InFlight), id)
	s.gauge(metricWriteHandles, float64(w.WriteHandles), id)
	s.gauge(metricRevoked, float64(w.Revoked), id)
}

// leaseStates are the states of gate.Status.
var leaseStates = []string{api.StateFree, api.StateHeld, "held_elsewhere", "expired", "stealable", "unreadable", "skewed", "closed"}

func (s sink) ofLease(w WorktreeReading, now time.Time) {
	id := string(w.Worktree)
	s.states(metricState, w.State, leaseStates, id)
	s.gauge(metricToken, float64(w.Token), id)
	age := 0.0
	if !w.Created.IsZero() {
		age = max(now.Sub(w.Created).Seconds(), 0)
	}
	s.gauge(metricAge, age, id)
	s.gauge(metricLeft, api.LeaseLeft(w.Status, now).Seconds(), id)
	s.gauge(metricWaiters, float64(w.Waiters), id)
	s.gauge(metricSilent, float64(w.SilentMS)/1000, id)
	cutOff := 0.0
	if w.CutOff {
		cutOff = 1
	}
	s.gauge(metricCutOff, cutOff, id)
	s.ofWaits(w.Counts.Granted, id, resultName(true))
	s.ofWaits(w.Counts.GivenUp, id, resultName(false))
	s.ofLeaseCounts(w.Counts, id)
}

func (s sink) ofWaits(c waitCounts, labels ...string) {
	buckets := make(map[float64]uint64, len(c.Within))
	for i, n := range c.Within {
		buckets[waitBounds[i].Seconds()] = n
	}
	s.to.Histogram(metricWaited, c.N, c.Spent.Seconds(), buckets, labels...)
}

func (s sink) ofSpans(d *metrics.Desc, c spans, labels ...string) {
	buckets, sum := make(map[float64]uint64, renewBuckets), uint64(0)
	for i, n := range c.Within {
		sum += n
		buckets[renewBound(i).Seconds()] = sum
	}
	s.to.Histogram(d, c.N, c.Spent.Seconds(), buckets, labels...)
}

func (s sink) ofLeaseCounts(c leaseCountsOf, id string) {
	s.counter(metricRenewals, c.Renewed, id, "ok")
	s.counter(metricRenewals, c.RenewFailed, id, "failed")
	s.ofSpans(metricRenewal, c.Renewals, id)
	s.ofSpans(metricLooks, c.Looks, id)
	s.counter(metricAcquired, c.Events[lease.EventAcquire], id)
	s.counter(metricSteals, c.Events[lease.EventSteal], id)
	s.counter(metricTakeovers, c.Events[lease.EventSteal]-c.Fenced-c.Unclean, id, "clean")
	s.counter(metricTakeovers, c.Fenced, id, "fenced")
	s.counter(metricTakeovers, c.Unclean, id, "unclean")
	s.counter(metricGate, c.GateLost, id)
	s.counter(metricRetaken, c.GateRetaken, id)
	s.counter(metricFences, c.Events[lease.EventFenced], id, resultName(true))
	s.counter(metricFences, c.Events[lease.EventFenceFailed], id, resultName(false))
	s.counter(metricReleases, c.Events[lease.EventRelease], id)
	s.counter(metricLosses, c.Events[lease.EventExpire], id, lease.LossExpired.Name())
	s.counter(metricLosses, c.Events[lease.EventSuperseded], id, lease.LossSuperseded.Name())
	s.counter(metricLosses, c.Events[lease.EventRenewFailed], id, lease.LossRenewFailed.Name())
	s.counter(metricLate, c.Events[lease.EventLateWrite], id)
	s.counter(metricAuditFails, c.AuditFailed, id)
}
