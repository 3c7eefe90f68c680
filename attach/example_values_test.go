package attach_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"syscall"

	"github.com/cilium/ebpf"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/provider"
)

// And joins what is to be computed of an argument, in the kernel.
func ExampleQuantiles() {
	scale := provider.New("scale", nil)
	weighed := provider.NewProbe1[uint32](scale, "weighed", "grams")
	if err := scale.Load(); err != nil {
		log.Fatal(err)
	}
	defer scale.Close()

	what := attach.Quantiles("grams", 50, 90).And(attach.Avg("grams")).And(attach.Stddev("grams")).
		And(attach.Sum("grams")).And(attach.Min("grams"))
	a, err := attach.OpenAggregate(context.Background(), []string{"scale:weighed"}, what, &attach.Options{
		Target: attach.Target{PIDs: []int{os.Getpid()}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()

	for _, grams := range []uint32{10, 10, 10, 50} {
		weighed.Fire(grams)
	}

	groups, err := a.Read()
	if err != nil {
		log.Fatal(err)
	}
	for _, g := range groups {
		fmt.Println(g.Sum, g.Avg, g.Stddev, g.Min)
		for _, q := range g.Quantiles {
			fmt.Println(q.Name(), q.Value)
		}
	}
	// Output:
	// 80 20 17.320508075688775 10
	// p50 10
	// p90 50
}

// A process that outlives the session keeps the map, so that nothing stands still for ever if
// this one is killed. Here the same process plays both.
func ExampleLetGo() {
	var stopped *ebpf.Map
	what := attach.EventOptions{Signal: attach.Signal{
		Number: syscall.SIGSTOP,
		Guard:  func(m *ebpf.Map) (err error) { stopped, err = m.Clone(); return err }, // or hand it over
	}}
	bank := provider.New("bank", nil)
	balance := provider.NewProbe1[int](bank, "balance", "cents")
	if err := bank.Load(); err != nil {
		log.Fatal(err)
	}
	defer bank.Close()
	s, err := attach.OpenEvents(context.Background(), []string{"bank:balance"}, &what, &attach.Options{
		Where: "cents < 0",
	})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	defer stopped.Close()
	balance.Fire(-1) // of this process, which its own session never stops

	if err := attach.LetGo(stopped); err != nil { // by the other process, when this one has ended
		log.Fatal(err)
	}
	st, err := s.Stats()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("spared:", st.Filtered)
	// Output: spared: 1
}

// Services that offer their probes through shared memory are traced without privileges.
func ExampleVia() {
	quick := provider.New("quick", &provider.Options{Local: true})
	step := provider.NewProbe1[int](quick, "step", "n")
	if err := quick.Load(); err != nil {
		log.Fatal(err)
	}
	defer quick.Close()
	s, err := attach.Open(context.Background(), []string{"quick:step"}, &attach.Options{
		Target: attach.Target{PIDs: []int{os.Getpid()}, Via: attach.ViaLocal}, // ViaAny prefers the kernel
	})
	if err != nil {
		log.Fatal(err)
	}
	step.Fire(1)
	if err := s.Close(); err != nil {
		log.Fatal(err)
	}
	fmt.Println("via", s.Via())
	// Output: via local
}

// Perf events are chosen by themselves where the kernel has no links for many uprobes.
func ExampleLinkKind() {
	for _, kind := range []attach.LinkKind{attach.AutoLink, attach.MultiLink, attach.PerfLink} {
		fmt.Println(kind)
	}
	// Output:
	// auto
	// uprobe_multi
	// perf event
}
