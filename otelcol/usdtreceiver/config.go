package usdtreceiver

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/prototype"
)

// Config is the configuration of the receiver.
type Config struct {
	// Traces are independent of each other: one that fails later does not stop the others.
	Traces []Trace `mapstructure:"traces"`
	// MaxCPUPercent is what the shares of all traces may sum up to, each of the processor time that
	// its target takes; 0 means any. Beyond, the dearest are suspended.
	MaxCPUPercent float64 `mapstructure:"max_cpu_percent"`

	once  sync.Once
	total *allowance // of the receivers of all signals
}

// allowance returns what all receivers of the configuration share.
func (c *Config) allowance() *allowance {
	c.once.Do(func() { c.total = newAllowance(c.MaxCPUPercent) })
	return c.total
}

// Trace says what is traced, and what becomes of it.
type Trace struct {
	// Name is what metrics, logs and spans are called; empty for PROVIDER.NAME of each probe.
	Name string `mapstructure:"name"`
	// Probes are selectors, [PATH:]PROVIDER:NAME or uprobe:PATH:FUNC, of metrics, logs and profiles.
	Probes []string `mapstructure:"probes"`
	Target Target   `mapstructure:"target"`
	// Where is a condition on arguments, which the kernel tests.
	Where string `mapstructure:"where"`
	// MaxEventsPerSecond is how many logs or spans, and MaxBytesPerSecond how much of them, is
	// delivered in a second; 0 means 1000, and any. Beyond, one in so many is delivered, and the
	// rest is counted in the collector's own telemetry. If it were less than one in a hundred, the
	// trace is suspended.
	MaxEventsPerSecond int `mapstructure:"max_events_per_second"`
	MaxBytesPerSecond  int `mapstructure:"max_bytes_per_second"`
	// MaxCPUPercent is what the trace's programs, and the traps of its sites into the kernel, may take
	// of the processor time that the target takes; 0 means any. Beyond, the trace is suspended, for so
	// long that the average is no more, but no longer than 20 times Suspension.
	MaxCPUPercent float64 `mapstructure:"max_cpu_percent"`
	// Suspension is how long the trace is at least detached; 0 means 30s.
	Suspension time.Duration `mapstructure:"suspension"`

	Metrics  *Metrics  `mapstructure:"metrics"`
	Logs     *Logs     `mapstructure:"logs"`
	Spans    *Spans    `mapstructure:"spans"`
	Profiles *Profiles `mapstructure:"profiles"`
}

// Target says which processes are traced; see attach.Target.
type Target struct {
	PIDs      []int  `mapstructure:"pids"`
	Children  bool   `mapstructure:"children"`
	Comm      string `mapstructure:"comm"`
	Exe       string `mapstructure:"exe"`
	Cgroup    string `mapstructure:"cgroup"`
	Container string `mapstructure:"container"`
	Pod       string `mapstructure:"pod"`
}

// Metrics says what the kernel adds up.
type Metrics struct {
	// Value is the argument that is added up; empty to count events.
	Value string `mapstructure:"value"`
	// Show names what is computed of Value: sum, min, max and histogram.
	Show []string `mapstructure:"show"`
	// Scale divides each power of two into 2^Scale buckets of the histogram, 0 to attach.MaxScale.
	Scale int `mapstructure:"scale"`
	// Start and End take the place of Probes, and the time between them that of Value, with all
	// of Show. Key names arguments by which they are matched.
	Start string   `mapstructure:"start"`
	End   string   `mapstructure:"end"`
	Key   []string `mapstructure:"key"`
	// MaxPending bounds the starts that wait for their ends; 0 means 4096, or 256 for
	// each processor. Beyond, the oldest are
	// lost, and counted.
	MaxPending int `mapstructure:"max_pending"`
	// By are arguments, pid, tid, cpu, uid, comm, cgroup, container or pod, which become attributes.
	By []string `mapstructure:"by"`
	// MaxGroups bounds the values of By; events beyond count for "(other)". 0 means 1000.
	MaxGroups int `mapstructure:"max_groups"`
	// Interval is how often metrics are delivered; 0 means 10s.
	Interval time.Duration `mapstructure:"interval"`
	// Temporality is cumulative or delta; empty means cumulative.
	Temporality string `mapstructure:"temporality"`
	// Process makes a resource of each process instead of one of the machine.
	Process bool `mapstructure:"process"`
	// Unit is the unit of Value, as UCUM has it; that of latencies is ns.
	Unit string `mapstructure:"unit"`
}

// Logs makes a log record of each event.
type Logs struct {
	// Parent is the argument with the W3C traceparent of the span to which an event belongs.
	Parent string `mapstructure:"parent"`
	// Snapshot leaves out all events except those around one that fulfils a condition.
	Snapshot *Snapshot `mapstructure:"snapshot"`
}

// Snapshot says when snapshots are taken, and what is in them; see attach.SnapshotOptions.
type Snapshot struct {
	// On is the condition, which is tested here.
	On string `mapstructure:"on"`
	// Before and After are how many events of all probes are in it; 0 means 100 and 20, a negative
	// number none.
	Before int `mapstructure:"before"`
	After  int `mapstructure:"after"`
	// Wait is how long it waits for events after, and Every the least time to the next; 0 means 1s.
	Wait  time.Duration `mapstructure:"wait"`
	Every time.Duration `mapstructure:"every"`
}

// Spans makes a span of each pair of events, or of each event that says how long something took.
type Spans struct {
	Start string `mapstructure:"start"`
	End   string `mapstructure:"end"`
	// Duration is the argument with the time before an event of Probes, which take the place of Start
	// and End. Unit is what a number is in: ns, us, ms or s; empty for ns.
	Duration string `mapstructure:"duration"`
	Unit     string `mapstructure:"unit"`
	// Key names arguments by which starts and ends are matched; empty for the thread, the
	// goroutine or the call.
	Key []string `mapstructure:"key"`
	// MaxPending is that of Metrics.
	MaxPending int `mapstructure:"max_pending"`
	// Slower leaves out spans that took no longer.
	Slower time.Duration `mapstructure:"slower"`
	// Parent is the argument with the W3C traceparent of the parent.
	Parent string `mapstructure:"parent"`
	// Nest has spans of a thread that lie within each other be parents and children, also of other
	// traces with Nest. It is how long a span waits for the one around it to end; 0 for no nesting.
	Nest time.Duration `mapstructure:"nest"`
}

// Profiles says what the kernel adds up by the calls that led to Probes.
type Profiles struct {
	// Value is the argument that is added up; empty to count events only.
	Value string `mapstructure:"value"`
	// Unit is the unit of Value; empty for nanoseconds of durations, and count.
	Unit string `mapstructure:"unit"`
	// MaxFrames is the largest number of calls of a stack; 0 means 64.
	MaxFrames int `mapstructure:"max_frames"`
	// Unwind finds callers by the tables of .eh_frame instead of frame pointers, at a cost: the
	// kernel copies the top of the stack.
	Unwind bool `mapstructure:"unwind"`
	// By are arguments and others, as of Metrics, which become attributes of samples.
	By []string `mapstructure:"by"`
	// MaxGroups bounds the stacks, with what By says, of an interval; events beyond count for
	// "(other)". 0 means 1000.
	MaxGroups int `mapstructure:"max_groups"`
	// Interval is the time that a profile covers; 0 means 10s.
	Interval time.Duration `mapstructure:"interval"`
}

const (
	defaultInterval  = 10 * time.Second
	minInterval      = 10 * time.Millisecond
	defaultMaxGroups = 1000
	defaultMaxEvents = 1000
	defaultFrames    = 64
)

// shown are the words of Show.
var shown = map[string]func(string) attach.Aggregation{"sum": attach.Sum, "min": attach.Min, "max": attach.Max, "histogram": attach.Hist}

// metricName is the syntax of an instrument's name: opentelemetry.io/docs/specs/otel/metrics/api
var metricName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_./-]{0,254}$`)

// Validate returns what is wrong with any of the traces.
func (c *Config) Validate() error {
	if len(c.Traces) == 0 {
		return errors.New("traces: there are none")
	}
	var errs []error
	if !(c.MaxCPUPercent >= 0) {
		errs = append(errs, fmt.Errorf("max_cpu_percent: %v is no share", c.MaxCPUPercent))
	}
	for i := range c.Traces {
		if err := c.Traces[i].validate(); err != nil {
			errs = append(errs, fmt.Errorf("traces::%d: %w", i, err))
		}
	}
	return errors.Join(errs...)
}

func (t *Trace) validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if t.Name != "" && !metricName.MatchString(t.Name) {
		bad("name: %q is no name of an instrument", t.Name)
	}
	if t.MaxEventsPerSecond < 0 {
		bad("max_events_per_second: %d is negative", t.MaxEventsPerSecond)
	}
	if t.MaxBytesPerSecond < 0 {
		bad("max_bytes_per_second: %d is negative", t.MaxBytesPerSecond)
	}
	if !(t.MaxCPUPercent >= 0) {
		bad("max_cpu_percent: %v is no share", t.MaxCPUPercent)
	}
	if t.Suspension < 0 {
		bad("suspension: %v is negative", t.Suspension)
	}
	if err := t.options().Validate(); err != nil {
		errs = append(errs, err)
	}
	if t.Metrics == nil && t.Logs == nil && t.Spans == nil && t.Profiles == nil {
		bad("nothing becomes of the events: want metrics, logs, spans or profiles")
	}
	if t.Profiles != nil {
		if err := t.validateProfiles(); err != nil {
			errs = append(errs, fmt.Errorf("profiles: %w", err))
		}
	}
	if m := t.Metrics; m != nil {
		if err := m.validate(); err != nil {
			errs = append(errs, fmt.Errorf("metrics: %w", err))
		}
	}
	if needs := t.Logs != nil || t.Profiles != nil || t.Metrics != nil && t.Metrics.Start == "" || t.Spans != nil && t.Spans.Duration != ""; needs == (len(t.Probes) == 0) {
		bad("probes: metrics, logs, profiles and spans with a duration need some, spans and metrics with a start have start and end instead")
	}
	for _, probe := range t.Probes {
		if _, err := selector.Parse(probe); err != nil {
			errs = append(errs, fmt.Errorf("probes: %w", err))
		}
	}
	if t.Logs != nil && t.Logs.Snapshot != nil {
		if err := t.validateSnapshot(); err != nil {
			errs = append(errs, fmt.Errorf("logs: snapshot: %w", err))
		}
	}
	if t.Spans != nil {
		if err := t.validateSpans(); err != nil {
			errs = append(errs, fmt.Errorf("spans: %w", err))
		}
	}
	return errors.Join(errs...)
}

func (m *Metrics) validate() error {
	switch latency := m.Start != "" || m.End != ""; {
	case latency && (m.Value != "" || len(m.Show) > 0):
		return errors.New("value and show exclude start and end, whose time has all values")
	case latency && m.Process:
		return errors.New("process is for probes; name pid in by for the time between two")
	case !latency && len(m.Key) > 0:
		return errors.New("key matches start and end")
	case !latency && m.MaxPending != 0 || m.MaxPending < 0:
		return fmt.Errorf("max_pending: %d is no number of starts", m.MaxPending)
	case latency:
		for _, probe := range []string{m.Start, m.End} {
			if _, err := selector.Parse(probe); err != nil {
				return err
			}
		}
	case (m.Value == "") != (len(m.Show) == 0):
		return errors.New("value is the argument of which show names what is computed: both or none")
	}
	switch {
	case m.Start == "" && slices.Contains(m.By, "probe"):
		return errors.New("by: what each probe makes is apart in any case")
	case m.Process && slices.Contains(m.By, "pid"):
		return errors.New("by: process has the pid in the resource")
	}
	for _, name := range m.Show {
		if shown[name] == nil {
			return fmt.Errorf("show: %q is none of sum, min, max and histogram", name)
		}
	}
	switch {
	case !slices.Contains([]string{"", "cumulative", "delta"}, m.Temporality):
		return fmt.Errorf("temporality: %q is neither cumulative nor delta", m.Temporality)
	case m.Scale < 0 || m.Scale > attach.MaxScale:
		return fmt.Errorf("scale: %d is not between 0 and %d", m.Scale, attach.MaxScale)
	case m.Scale > 0 && m.Start == "" && !slices.Contains(m.Show, "histogram"):
		return errors.New("scale: there is no histogram")
	case m.Interval < 0 || m.Interval > 0 && m.Interval < minInterval:
		return fmt.Errorf("interval: %v is less than %v", m.Interval, minInterval)
	case m.MaxGroups < 0:
		return fmt.Errorf("max_groups: %d is negative", m.MaxGroups)
	}
	return nil
}

// mostAround bounds the events before and after the one that a snapshot is of.
const mostAround = 10_000

func (t *Trace) validateSnapshot() error {
	o := t.Logs.Snapshot
	switch {
	case o.On == "":
		return errors.New("on: there is no condition")
	case o.Wait < 0:
		return fmt.Errorf("wait: %v is negative", o.Wait)
	case o.Every < 0:
		return fmt.Errorf("every: %v is negative", o.Every)
	case o.Before > mostAround:
		return fmt.Errorf("before: %d events are more than %d", o.Before, mostAround)
	case o.After > mostAround:
		return fmt.Errorf("after: %d events are more than %d", o.After, mostAround)
	}
	return t.eventOptions().Validate(t.options())
}

// unitsOfTime are the words of Spans.Unit.
var unitsOfTime = map[string]time.Duration{"": 1, "ns": 1, "us": time.Microsecond, "ms": time.Millisecond, "s": time.Second}

func (t *Trace) validateSpans() error {
	s := t.Spans
	switch {
	case s.Nest < 0 || s.Nest > longestNest:
		return fmt.Errorf("nest: %v is not between 0 and %v", s.Nest, longestNest)
	case s.Duration == "" && s.Unit != "":
		return errors.New("unit belongs to duration")
	case unitsOfTime[s.Unit] == 0:
		return fmt.Errorf("unit: %q is none of ns, us, ms and s", s.Unit)
	case s.Duration != "" && (s.Start != "" || s.End != "" || len(s.Key) > 0 || s.MaxPending != 0):
		return errors.New("duration takes the place of start, end, key and max_pending")
	case s.Duration != "" && s.Slower != 0:
		return errors.New("slower: where compares the argument of duration")
	case s.Duration != "":
		return nil
	}
	for _, probe := range []string{s.Start, s.End} {
		if _, err := selector.Parse(probe); err != nil {
			return fmt.Errorf("start and end: %w", err)
		}
	}
	return t.pairOptions().Validate()
}

func (t *Trace) validateProfiles() error {
	p := t.Profiles
	for _, name := range []string{"probe", "pid", "stack"} {
		if slices.Contains(p.By, name) {
			return fmt.Errorf("by: samples have %s in any case", name)
		}
	}
	switch {
	case p.Unit != "" && p.Value == "":
		return errors.New("unit belongs to value")
	case p.Interval < 0 || p.Interval > 0 && p.Interval < minInterval:
		return fmt.Errorf("interval: %v is less than %v", p.Interval, minInterval)
	case p.MaxGroups < 0:
		return fmt.Errorf("max_groups: %d is negative", p.MaxGroups)
	}
	return t.profiled().Validate()
}

// profiled returns the options for profiles.
func (t *Trace) profiled() *attach.Options {
	o := t.options()
	o.Stack, o.Unwind = cmp.Or(t.Profiles.MaxFrames, defaultFrames), t.Profiles.Unwind
	return o
}

// suspension returns how long the trace is detached if it exceeds its budget.
func (t *Trace) suspension() time.Duration { return cmp.Or(t.Suspension, retry) }

// rescan is how often a trace looks for probes that the kernel's reports on new mappings miss: a
// process may get the name of its target later. Each look reads what all processes have mapped.
const rescan = 30 * time.Second

// options returns what is attached to, and how. Probes may appear later.
func (t *Trace) options() *attach.Options {
	p := t.Target
	return &attach.Options{
		Target: attach.Target{PIDs: p.PIDs, Children: p.Children, Comm: p.Comm, Exe: p.Exe, Cgroup: p.Cgroup, Container: p.Container, Pod: p.Pod},
		Where:  t.Where, Rescan: rescan, Await: true, Prototypes: prototype.Known(),
	}
}

// eventOptions returns what single events have.
func (t *Trace) eventOptions() *attach.EventOptions {
	o := &attach.EventOptions{RingSize: t.ringSize()}
	if t.Logs != nil && t.Logs.Snapshot != nil {
		o.On = t.Logs.Snapshot.On
	}
	return o
}

// pairOptions returns how pairs are matched.
func (t *Trace) pairOptions() *attach.PairOptions {
	s := t.Spans
	return &attach.PairOptions{Key: s.Key, Slower: s.Slower, MaxPending: cmp.Or(s.MaxPending, defaultPending()), RingSize: t.ringSize()}
}

// defaultPending returns how many starts wait at most: what a machine has in flight, and many times what
// the kernel gives each processor of such a map (kernel/bpf/bpf_lru_list.c, LOCAL_FREE_TARGET).
func defaultPending() int { return max(4096, 256*runtime.NumCPU()) }

// ringSize returns the size of the kernel's buffer: for as many bytes as the events of a second may be,
// within bounds. Its pages are the largest part of a trace's memory.
func (t *Trace) ringSize() int {
	const of, least, most = 512, 512 << 10, 4 << 20 // of a record with its strings
	return min(max(cmp.Or(t.MaxEventsPerSecond, defaultMaxEvents)*of, least), most)
}
