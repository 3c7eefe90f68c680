package attach_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/reader"
)

// Open selects probes by name and delivers their events as Go values.
func ExampleOpen() {
	// The traced program is usually another process.
	store := provider.New("store", nil)
	order := provider.NewProbe3[uint32, string, float64](store, "order", "items", "customer", "total")
	if err := store.Load(); err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	ctx, cancel := context.WithCancel(context.Background())
	s, err := attach.Open(ctx, []string{"store:*"}, &attach.Options{
		Target: attach.Target{PIDs: []int{os.Getpid()}},
		Where:  "total >= 10",
	})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	order.Fire(2, "Ada", 19.99)
	order.Fire(1, "Bob", 0.5)
	cancel() // Events ends after the events that have fired

	for ev, err := range s.Events() {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s:%s", ev.Provider, ev.Name)
		for _, a := range ev.Args {
			fmt.Printf(" %s=%v", a.Name, a.Value)
		}
		fmt.Println()
	}
	// Output: store:order items=2 customer=Ada total=19.99
}

// Views yields events that are only looked at, without allocating memory.
func ExampleSession_Views() {
	store := provider.New("store", nil)
	order := provider.NewProbe2[uint32, string](store, "order", "items", "customer")
	if err := store.Load(); err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	s, err := attach.Open(context.Background(), []string{"store:order"}, &attach.Options{Target: attach.Target{PIDs: []int{os.Getpid()}}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	for i := range uint32(1000) {
		order.Fire(i, "Ada")
	}
	if err := s.Stop(); err != nil {
		log.Fatal(err)
	}

	items, letters := uint64(0), 0
	for v, err := range s.Views() {
		if err != nil {
			log.Fatal(err)
		}
		items += v.Arg(0).Uint()
		customer, _ := v.Lookup("customer")
		letters += len(customer.Bytes())
	}
	fmt.Println(items, letters)
	// Output: 499500 3000
}

// A program of one's own: it counts by the cookie that each probe was given.
func ExampleAttachProbes() {
	store := provider.New("store", nil)
	order := provider.NewProbe0(store, "order")
	cancellation := provider.NewProbe0(store, "cancellation")
	if err := store.Load(); err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	counts, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 2})
	if err != nil {
		log.Fatal(err)
	}
	defer counts.Close()
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type:    ebpf.Kprobe,
		License: "GPL",
		Instructions: asm.Instructions{
			asm.FnGetAttachCookie.Call(),
			asm.StoreMem(asm.R10, -4, asm.R0, asm.Word),
			asm.LoadMapPtr(asm.R1, counts.FD()),
			asm.Mov.Reg(asm.R2, asm.R10),
			asm.Add.Imm(asm.R2, -4),
			asm.FnMapLookupElem.Call(),
			asm.JEq.Imm(asm.R0, 0, "exit"),
			asm.Mov.Imm(asm.R1, 1),
			asm.AddAtomic.Mem(asm.R0, asm.R1, asm.DWord, 0),
			asm.Mov.Imm(asm.R0, 0).WithSymbol("exit"),
			asm.Return(),
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer prog.Close()

	process, err := reader.OpenProcess(os.Getpid())
	if err != nil {
		log.Fatal(err)
	}
	defer process.Close()
	var probes []reader.Probe
	var cookies []uint64
	for p, err := range process.Probes() {
		if err != nil || p.Provider != "store" {
			continue
		}
		probes = append(probes, p)
		cookies = append(cookies, map[string]uint64{"order": 0, "cancellation": 1}[p.Name])
	}
	a, err := attach.AttachProbes(prog, probes, &attach.ProgramOptions{Target: attach.Target{PIDs: []int{os.Getpid()}}, Cookies: cookies})
	if err != nil {
		log.Fatal(err)
	}
	order.Fire()
	order.Fire()
	cancellation.Fire()
	if err := a.Close(); err != nil {
		log.Fatal(err)
	}

	var n [2]uint64
	for i := range n {
		if err := counts.Lookup(uint32(i), &n[i]); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(n)
	// Output: [2 1]
}

// A histogram for each value of an argument, computed by the kernel.
func ExampleOpenAggregate() {
	store := provider.New("store", nil)
	served := provider.NewProbe2[string, uint32](store, "served", "path", "ms")
	if err := store.Load(); err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	bounds, err := attach.Linear(0, 30, 10)
	if err != nil {
		log.Fatal(err)
	}
	what := attach.Hist("ms").And(attach.Max("ms")).Bounds(bounds...).By("path")
	a, err := attach.OpenAggregate(context.Background(), []string{"store:served"}, what, &attach.Options{
		Target: attach.Target{PIDs: []int{os.Getpid()}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()

	for ms := range uint32(25) {
		served.Fire("/", ms)
	}
	served.Fire("/slow", 1000)

	groups, err := a.Read() // the next Read starts from zero
	if err != nil {
		log.Fatal(err)
	}
	for _, g := range groups {
		fmt.Println(g.By[0].Value, "count", g.Count, "max", g.Max)
		for _, b := range g.Hist {
			fmt.Printf("  %g to %g: %d\n", b.Lo, b.Hi, b.N)
		}
	}
	// Output:
	// / count 25 max 24
	//   0 to 10: 10
	//   10 to 20: 10
	//   20 to 30: 5
	// /slow count 1 max 1000
	//   30 to +Inf: 1
}

// The time from one probe to another, by the number of a request.
func ExampleOpenLatency() {
	store := provider.New("store", nil)
	start := provider.NewProbe1[uint64](store, "start", "id")
	done := provider.NewProbe1[uint64](store, "done", "id")
	if err := store.Load(); err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	l, err := attach.OpenLatency(context.Background(), "store:start", "store:done",
		&attach.LatencyOptions{Key: []string{"id"}},
		&attach.Options{Target: attach.Target{PIDs: []int{os.Getpid()}}})
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()

	start.Fire(1)
	start.Fire(2)
	time.Sleep(10 * time.Millisecond)
	done.Fire(1)
	done.Fire(3)

	groups, err := l.Read()
	if err != nil {
		log.Fatal(err)
	}
	for _, g := range groups {
		fmt.Println(g.Count, "request, at least 10 ms:", time.Duration(g.Min.(uint64)) >= 10*time.Millisecond)
	}
	pairs, err := l.Pairs()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(pairs.Pending, "without an end,", pairs.Unstarted, "without a start")
	// Output:
	// 1 request, at least 10 ms: true
	// 1 without an end, 1 without a start
}
