package usdtreceiver

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/selector"
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
		for _, err := range c.Traces[i].validate() {
			errs = append(errs, fmt.Errorf("traces::%d: %w", i, err))
		}
	}
	return errors.Join(errs...)
}

// validate returns each error of an entry by itself.
func (t *Trace) validate() (errs []error) {
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
	if len(t.signals()) == 0 {
		bad(`nothing becomes of the events: want metrics, logs, spans or profiles, with {} as value if nothing is to be said of them`)
	}
	if t.Profiles != nil {
		if err := t.validateProfiles(); err != nil {
			errs = append(errs, fmt.Errorf("profiles: %w", err))
		}
	}
	if m := t.Metrics; m != nil {
		err := m.validate()
		switch {
		case err != nil:
		case m.latency():
			err = t.latencyOptions().Validate()
		default:
			err = t.aggregation().Validate()
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("metrics: %w", err))
		}
	}
	needs := t.Logs != nil || t.Profiles != nil || t.Metrics != nil && !t.Metrics.latency() || t.Spans != nil && t.Spans.Duration != ""
	switch {
	case needs && len(t.Probes) == 0:
		bad("probes: there are none")
	case !needs && len(t.Probes) > 0 && len(t.signals()) > 0:
		bad("probes: start and end take their place")
	}
	for _, probe := range t.Probes {
		if _, err := selector.Parse(probe); err != nil {
			errs = append(errs, fmt.Errorf("probes: %w", err))
		}
	}
	if t.Logs != nil {
		if err := t.Logs.joins().validate(); err != nil {
			errs = append(errs, fmt.Errorf("logs: %w", err))
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
	return errs
}

// latency reports whether the time between two probes is measured.
func (m *Metrics) latency() bool { return m.Start != "" || m.End != "" }

// checkEnds checks the probes between which time is measured.
func checkEnds(start, end string) error {
	if start == "" || end == "" {
		return errors.New("start and end: one of them is missing")
	}
	for _, probe := range []string{start, end} {
		if _, err := selector.Parse(probe); err != nil {
			return fmt.Errorf("start and end: %w", err)
		}
	}
	return nil
}

// tooShort is the error about an interval.
func tooShort(interval time.Duration) error {
	return fmt.Errorf("interval: %v is less than %v; a number without a unit counts nanoseconds", interval, minInterval)
}

func (m *Metrics) validate() error {
	switch latency := m.latency(); {
	case latency && (m.Value != "" || len(m.Show) > 0):
		return errors.New("value and show exclude start and end, whose time has all values")
	case latency && m.Process:
		return errors.New("process is for probes; name pid in by for the time between two")
	case !latency && len(m.Key) > 0:
		return errors.New("key matches start and end")
	case !latency && m.MaxPending != 0 || m.MaxPending < 0:
		return fmt.Errorf("max_pending: %d is no number of starts", m.MaxPending)
	case latency:
		if err := checkEnds(m.Start, m.End); err != nil {
			return err
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
		return tooShort(m.Interval)
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
	if err := s.joins().validate(); err != nil {
		return err
	}
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
	if err := checkEnds(s.Start, s.End); err != nil {
		return err
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
		return tooShort(p.Interval)
	case p.MaxGroups < 0:
		return fmt.Errorf("max_groups: %d is negative", p.MaxGroups)
	}
	if err := t.stacks().Validate(); err != nil {
		return err
	}
	return t.profiled().Validate()
}
