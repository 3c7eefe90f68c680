package attach_test

import (
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/reader"
)

// A daemon pins what it has attached. The next one goes on where it has ended, and sees what
// has fired meanwhile.
func ExampleAttachment_Pin() {
	orders := newOrders() // with a probe, and a program that counts in a map
	defer orders.provider.Close()
	fs, unmount := mountBPF() // /sys/fs/bpf of most machines
	defer unmount()
	dir := filepath.Join(fs, "shopd")

	a, err := attach.AttachProbes(orders.program, orders.probes, nil)
	if err != nil {
		log.Fatal(err)
	}
	if err := errors.Join(a.Pin(dir), orders.counts.Pin(filepath.Join(dir, "counts"))); err != nil {
		log.Fatal(err)
	}
	orders.order.Fire()
	errors.Join(a.Close(), orders.program.Close(), orders.counts.Close()) // or the daemon crashes

	orders.order.Fire()

	a, err = attach.Adopt(dir) // another daemon
	if err != nil {
		log.Fatal(err)
	}
	counts, err := ebpf.LoadPinnedMap(filepath.Join(dir, "counts"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer counts.Close()
	orders.order.Fire()
	fmt.Println("orders:", count(counts))

	if err := errors.Join(counts.Unpin(), a.Unpin(), a.Close()); err != nil { // for good
		log.Fatal(err)
	}
	fmt.Println("watched:", orders.order.Enabled())
	// Output:
	// orders: 3
	// watched: false
}

// Links are what bpftool link shows, and can be pinned one by one.
func ExampleAttachment_Links() {
	orders := newOrders()
	defer orders.provider.Close()
	a, err := attach.AttachProbes(orders.program, orders.probes, nil)
	if err != nil {
		log.Fatal(err)
	}
	links, err := a.Links()
	if err != nil {
		log.Fatal(err)
	}
	a.Close() // the link is still open
	orders.order.Fire()
	for _, l := range links {
		info, err := l.Info()
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("of perf events:", info.PerfEvent() != nil)
		l.Close()
	}
	orders.order.Fire()
	fmt.Println("orders:", count(orders.counts))
	// Output:
	// of perf events: true
	// orders: 1
}

// Many are closed at the price of one.
func ExampleCloseAll() {
	orders := newOrders()
	defer orders.provider.Close()
	var all []*attach.Attachment
	for range 8 {
		a, err := attach.AttachProbes(orders.program, orders.probes, nil)
		if err != nil {
			log.Fatal(err)
		}
		all = append(all, a)
	}
	orders.order.Fire()
	if err := attach.CloseAll(all...); err != nil {
		log.Fatal(err)
	}
	orders.order.Fire()
	fmt.Println("orders:", count(orders.counts))
	// Output: orders: 8
}

// orders are a probe, and a program with a map that counts it.
type orders struct {
	provider *provider.Provider
	order    *provider.Probe0
	probes   []reader.Probe
	program  *ebpf.Program
	counts   *ebpf.Map
}

func newOrders() (o orders) {
	o.provider = provider.New("orders", nil)
	o.order = provider.NewProbe0(o.provider, "order")
	err := o.provider.Load()
	if err != nil {
		log.Fatal(err)
	}
	if o.counts, err = ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1}); err != nil {
		log.Fatal(err)
	}
	o.program, err = ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.Kprobe, License: "GPL", Instructions: asm.Instructions{
		asm.LoadMapValue(asm.R1, o.counts.FD(), 0),
		asm.Mov.Imm(asm.R2, 1),
		asm.AddAtomic.Mem(asm.R1, asm.R2, asm.DWord, 0),
		asm.Mov.Imm(asm.R0, 0),
		asm.Return(),
	}})
	if err != nil {
		log.Fatal(err)
	}
	process, err := reader.OpenProcess(os.Getpid())
	if err != nil {
		log.Fatal(err)
	}
	defer process.Close()
	for p, err := range process.Probes() {
		if err == nil && p.Provider == "orders" {
			o.probes = append(o.probes, p)
		}
	}
	return o
}

func count(counts *ebpf.Map) (n uint64) {
	if err := counts.Lookup(uint32(0), &n); err != nil {
		log.Fatal(err)
	}
	return n
}

// mountBPF mounts a BPF file system.
func mountBPF() (dir string, unmount func()) {
	dir, err := os.MkdirTemp("", "bpf")
	if err == nil {
		err = unix.Mount("bpf", dir, "bpf", 0, "")
	}
	if err != nil {
		log.Fatal(err)
	}
	return dir, func() { errors.Join(unix.Unmount(dir, unix.MNT_DETACH), os.Remove(dir)) }
}
