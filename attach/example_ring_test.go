package attach_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/ringbuf"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/provider"
)

// Events go into a ring buffer that programs of the caller's write to as well.
func ExampleSession_Decode() {
	stall := provider.New("stall", nil)
	defer stall.Close()
	sold := provider.NewProbe2[int, string](stall, "sold", "cents", "what")
	if err := stall.Load(); err != nil {
		log.Fatal(err)
	}
	ring, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.RingBuf, MaxEntries: 1 << 16})
	if err != nil {
		log.Fatal(err)
	}
	defer ring.Close()

	s, err := attach.OpenEvents(context.Background(), []string{"stall:sold"}, &attach.EventOptions{Ring: ring},
		&attach.Options{Target: attach.Target{PIDs: []int{os.Getpid()}}, Where: "cents >= 100"})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	records, err := ringbuf.NewReader(ring)
	if err != nil {
		log.Fatal(err)
	}
	defer records.Close()
	sold.Fire(20, "roll")
	sold.Fire(450, "cake")

	rec, err := records.Read()
	if err != nil {
		log.Fatal(err)
	}
	ev, err := s.Decode(rec.RawSample) // unless a program of the caller's has set the highest bit
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(ev.Name, ev.Args[0].Value, ev.Args[1].Value)
	// Output: sold 450 cake
}
