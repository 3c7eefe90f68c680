package usdtreceiver

import (
	"sync"
	"time"

	"go.uber.org/zap"
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

	made   sync.Map // signals of the pipelines that have the receiver
	warned sync.Once
}

// warn reports each trace that becomes nothing, since no pipeline of its signal has the receiver. The
// collector makes the receivers of all pipelines before it starts one.
func (c *Config) warn(log *zap.Logger) {
	c.warned.Do(func() {
		for i := range c.Traces {
			for _, signal := range c.Traces[i].signals() {
				if _, ok := c.made.Load(signal); !ok {
					log.Warn("No pipeline of this trace's signal has the receiver: nothing becomes of its events.", zap.String("trace", c.Traces[i].title()), zap.String("of", signal))
				}
			}
		}
	})
}

// signals are what becomes of a trace's events.
func (t *Trace) signals() (all []string) {
	for _, one := range []struct {
		signal string
		wanted bool
	}{{"metrics", t.Metrics != nil}, {"logs", t.Logs != nil}, {"traces", t.Spans != nil}, {"profiles", t.Profiles != nil}} {
		if one.wanted {
			all = append(all, one.signal)
		}
	}
	return all
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

const (
	defaultInterval  = 10 * time.Second
	minInterval      = 10 * time.Millisecond
	defaultMaxGroups = 1000
	defaultMaxEvents = 1000
	defaultFrames    = 64
)
