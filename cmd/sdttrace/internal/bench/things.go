package bench

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/format"
	"github.com/go-usdt/usdt/internal/program"
	"github.com/go-usdt/usdt/internal/traps"
	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/reader"
)

// thing is something to measure.
type thing struct {
	name  string
	group Group
	begin func(context.Context, *machine) (running, error)
}

// running is a thing that is ready to be measured. Every thread calls loop, which goes round n
// times. Where a tracer reads events, n is at most its burst, and idle reports whether all have
// been read: events that are lost cost less. end, unless nil, detaches; it returns which share of
// the events was lost.
type running struct {
	loop  func(n int)
	burst int
	idle  func() bool
	end   func() (lost float64, err error)
}

// burst is a number of events for which buffers are large enough, in each of some threads.
const burst = 500

// machine is what things are measured with.
type machine struct {
	*traps.Code
	usdt   *provider.Provider
	number *provider.Probe1[int]
	text   *provider.Probe1[string]
}

const providerName = "sdttrace_bench"

func newMachine() (*machine, error) {
	c, err := traps.NewCode()
	if err != nil {
		return nil, err
	}
	m := &machine{Code: c, usdt: provider.New(providerName, &provider.Options{Local: true})}
	m.number = provider.NewProbe1[int](m.usdt, numberName, "n")
	m.text = provider.NewProbe1[string](m.usdt, textName, "s")
	if err := m.usdt.Load(); err != nil {
		return nil, errors.Join(err, m.close())
	}
	return m, nil
}

func (m *machine) close() error { return errors.Join(m.usdt.Close(), m.Code.Close()) }

const (
	syscallName = "system call"
	sharedName  = "printed, shared memory"
)

// things are what is measured, in this order.
var things = func() []thing {
	called := traps.Functions()
	all := []thing{
		{"call", Program, func(_ context.Context, m *machine) (running, error) { return running{loop: m.Calls(traps.Plain)}, nil }},
		{syscallName, Program, func(_ context.Context, m *machine) (running, error) { return running{loop: m.Syscalls()}, nil }},
	}
	for _, f := range called {
		all = append(all, thing{"uprobe " + f, Kernel, probed(f, (*reader.Function).Entry)})
	}
	for _, f := range called {
		all = append(all, thing{"uretprobe " + f, Kernel, probed(f, (*reader.Function).Return)})
	}
	return append(all,
		thing{"unwatched", USDT, func(_ context.Context, m *machine) (running, error) { return running{loop: m.fire}, nil }},
		thing{"empty program", USDT, empty},
		thing{"counted", USDT, counted},
		thing{"printed", USDT, printed(numberName, &attach.Options{})},
		thing{"with a string", USDT, printed(textName, &attach.Options{})},
		thing{"with a stack", USDT, printed(numberName, &attach.Options{Stack: attach.MaxStack})},
		thing{"recorded", USDT, recorded},
		thing{sharedName, USDT, printed(numberName, &attach.Options{Target: attach.Target{Via: attach.ViaLocal}})},
	)
}()

const (
	numberName = "number"
	textName   = "text"
)

func (m *machine) fire(n int) {
	for i := range n {
		m.number.Fire(i)
	}
}

// fireText fires a text of 32 bytes.
func (m *machine) fireText(n int) {
	for range n {
		m.text.Fire("GET /api/v1/orders/4711/position")
	}
}

// self is this process.
func self() attach.Target { return attach.Target{PIDs: []int{os.Getpid()}} }

// probed returns what begins a thing: a program that does nothing, at the entry of a function
// or at its return.
func probed(function string, of func(*reader.Function) reader.Probe) func(context.Context, *machine) (running, error) {
	return func(_ context.Context, m *machine) (running, error) {
		a, err := m.Attach(function, of)
		if err != nil {
			return running{}, err
		}
		return running{loop: m.Calls(function), end: func() (float64, error) { return 0, a.Close() }}, nil
	}
}

func empty(_ context.Context, m *machine) (running, error) {
	a, err := program.AttachEmpty(os.Getpid(), providerName, numberName)
	if err != nil {
		return running{}, err
	}
	return running{loop: m.fire, end: func() (float64, error) { return 0, a.Close() }}, nil
}

func counted(ctx context.Context, m *machine) (running, error) {
	a, err := attach.OpenAggregate(ctx, []string{providerName + ":" + numberName}, attach.Count(), &attach.Options{Target: attach.Target{PIDs: self().PIDs, Via: attach.ViaKernel}})
	if err != nil {
		return running{}, err
	}
	return running{loop: m.fire, end: func() (float64, error) { return lost(a, a.Close()) }}, nil
}

// printed returns what begins a thing: events of a probe that are read and made text.
func printed(name string, opts *attach.Options) func(context.Context, *machine) (running, error) {
	return func(ctx context.Context, m *machine) (running, error) {
		opts := *opts
		opts.Target.PIDs = self().PIDs
		if opts.Target.Via == attach.ViaAny {
			opts.Target.Via = attach.ViaKernel
		}
		s, err := attach.Open(ctx, []string{providerName + ":" + name}, &opts)
		if err != nil {
			return running{}, err
		}
		done := make(chan error, 1)
		go func() {
			var line []byte
			for ev, err := range s.Events() {
				if err != nil && ev.Probe == nil { // the end, not one event
					done <- err
					return
				}
				line = format.AppendText(line[:0], &ev)
			}
			done <- nil
		}()
		loop := m.fire
		if name == textName {
			loop = m.fireText
		}
		return running{loop, burst, s.Idle, func() (float64, error) { return lost(s, errors.Join(s.Stop(), <-done, s.Close())) }}, nil
	}
}

func recorded(ctx context.Context, m *machine) (running, error) {
	r, err := attach.Record(ctx, []string{providerName + ":" + numberName}, nil, &attach.Options{Target: attach.Target{PIDs: self().PIDs, Via: attach.ViaKernel}})
	if err != nil {
		return running{}, err
	}
	done := make(chan error, 1)
	go func() { done <- r.Write(io.Discard, nil) }()
	return running{m.fire, burst, r.Idle, func() (float64, error) { return lost(r, errors.Join(r.Stop(), <-done, r.Close())) }}, nil
}

// lost returns which share of the events of a session was lost, once it is closed.
func lost(s interface{ Stats() (attach.Stats, error) }, closed error) (float64, error) {
	st, err := s.Stats()
	if err := errors.Join(closed, err); err != nil || st.Fired == 0 {
		return 0, err
	}
	return float64(st.Lost+st.Missed) / float64(st.Fired), nil
}
