package usdtreceiver

import (
	"time"
)

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
	// TraceID and SpanID, in place of Parent, are the arguments with the identifiers of a trace and
	// a span: hexadecimal digits, bytes or integers. Two arguments are the halves of a trace's.
	TraceID []string `mapstructure:"trace_id"`
	SpanID  string   `mapstructure:"span_id"`
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
	// Parent is the argument with the W3C traceparent of the parent. TraceID and SpanID, in place of
	// it, are those of Logs; without SpanID a span has no parent in that trace.
	Parent  string   `mapstructure:"parent"`
	TraceID []string `mapstructure:"trace_id"`
	SpanID  string   `mapstructure:"span_id"`
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
