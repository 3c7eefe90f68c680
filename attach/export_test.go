package attach

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/go-usdt/usdt/attach/internal/filter"
	"github.com/go-usdt/usdt/attach/internal/link"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/kernel"
	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/reader"
)

// TellsNestedPIDs reports whether the PIDs of processes in a namespace within this
// process's are known.
func TellsNestedPIDs() bool { return kernel.OwnPIDNamespace().TellsNested() }

// SiteNumbers returns the largest number of sites that a session has had at a
// time.
func SiteNumbers(s *Session) int { return len(s.sites.Load().Probes) }

// AggregateSiteNumbers and LatencySiteNumbers are SiteNumbers for events that are added
// up.
func AggregateSiteNumbers(a *Aggregate) int { return len(a.sites.Load().Probes) }
func LatencySiteNumbers(a *Latency) int     { return len(a.sites.Load().Probes) }

// Leaving returns how many sites have been left whose numbers other sites may not have
// yet.
func (t *tracing) Leaving() (n int) {
	t.finding.Lock()
	defer t.finding.Unlock()
	return t.numbers.Leaving() + t.leaving
}

// Holding returns a function that evaluates a condition in Go on views of a
// session. The session has one site, and a condition that reads the same
// arguments.
func Holding(s *Session, where string) (func(*event.View) bool, error) {
	expr, err := parseWhere(where)
	if err != nil {
		return nil, err
	}
	sites := s.sites.Load()
	last := len(sites.Schemas) - 1
	var names []string
	c, err := expr.Check(func(name string, text bool) (filter.Value, error) {
		in, err := sites.Schemas[last].Input(sites.Probes[last], name, text)
		names = append(names, name)
		return filter.Value{Kind: in.FilterKind(), Size: in.Size, Index: len(names) - 1}, err
	})
	return func(v *event.View) bool {
		return c.Holds(func(operand filter.Value) filter.Operand {
			switch name := names[operand.Index]; name {
			case "pid":
				return filter.NumberOperand(uint64(v.PID()))
			case "tid":
				return filter.NumberOperand(uint64(v.TID()))
			case "comm":
				return filter.StringOperand([]byte(v.Comm()), false)
			default:
				value, _ := v.Lookup(name)
				return operandOf(value)
			}
		})
	}, err
}

// OpenAggregateRecorded is OpenAggregate, but events are recorded and added up in Go.
func OpenAggregateRecorded(ctx context.Context, selectors []string, what Aggregation, opts *Options) (*Aggregate, error) {
	o, err := opts.ofTotals(ctx, what.wanted.By, 0, 0)
	if err != nil {
		return nil, err
	}
	o.recorded, o.Target.Via = true, ViaKernel
	return openAggregate(ctx, selectors, what, o)
}

// OpenLatencyRecorded is OpenLatency, but events are recorded and matched in Go.
func OpenLatencyRecorded(ctx context.Context, start, end string, what *LatencyOptions, opts *Options) (*Latency, error) {
	if what == nil {
		what = &LatencyOptions{}
	}
	o, err := opts.ofTotals(ctx, what.By, 0, 0)
	if err != nil {
		return nil, err
	}
	o.recorded, o.Target.Via = true, ViaKernel
	return openLatency(ctx, start, end, what, o)
}

// Keep takes groups out of the kernel's maps, as an aggregate does by itself when they fill these.
func Keep(a *Aggregate) error {
	for {
		a.naming.Lock()
		_, kept, err := a.keep(func() (bool, error) { return true, nil })
		if kept {
			a.foldKept()
		}
		a.naming.Unlock()
		if kept || err != nil {
			return err
		}
	}
}

// HoldCode has whoever names code wait until release is called.
func HoldCode(a *Aggregate) (release func()) {
	_, release = a.code.Hold()
	return release
}

// LoadOwn declares a probe of this process, for tests on both sides of the API.
func LoadOwn(t *testing.T, name string) *provider.Probe1[uint64] {
	t.Helper()
	p := provider.New(name, nil)
	probe := provider.NewProbe1[uint64](p, "fired", "n")
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return probe
}

// TrampolinesAlone reports whether each function of the kernel has a link of its own.
func TrampolinesAlone() bool {
	kind, err := link.ChooseKernel(reader.Fentry, link.Auto)
	return err == nil && kind == link.TrampolineOne
}

// KprobesAlone reports whether each kprobe has a perf event of its own.
func KprobesAlone(t testing.TB) bool {
	kind, err := link.ChooseKernel(reader.Kprobe, link.Auto)
	if err != nil {
		t.Fatal(err)
	}
	return kind.Slow()
}

// ByCall reports whether all starts and ends are matched by programs that run at both.
func ByCall(l *Latency) bool { return l.programs.callFunctions != (kernel.CallFunctions{}) }

// RunsAtReturns reports whether the kernel runs programs at entries and at returns of its functions, or
// of programs'.
func RunsAtReturns(t testing.TB, kernel bool) bool {
	kind, err := link.Choose(link.Auto, true)
	if kernel {
		kind, err = link.ChooseKernel(reader.Kprobe, link.Auto)
	}
	if err != nil {
		t.Fatal(err)
	}
	_, err = kind.CallProgram()
	return err == nil
}

// operandOf returns a decoded value as conditions take it.
func operandOf(v event.Value) filter.Operand {
	switch v.Kind {
	case reader.Uint, reader.Bool:
		return filter.NumberOperand(v.Uint())
	case reader.Int:
		return filter.NumberOperand(uint64(v.Int()))
	case reader.Float:
		return filter.NumberOperand(math.Float64bits(v.Float()))
	case reader.String, reader.Bytes:
		return filter.StringOperand(v.Bytes(), errors.Is(v.Err, event.ErrTruncated))
	}
	return filter.Operand{}
}
