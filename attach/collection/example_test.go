package collection_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/attach/collection"
	"github.com/go-usdt/usdt/internal/systest/bpf"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/provider"
)

// The object is compiled from C, with libbpf's header:
//
//	#include <bpf/usdt.bpf.h>
//
//	SEC("usdt/shop:order")
//	int BPF_USDT(order, long items, long cents) { … }
//
// The section may begin with a path, as libbpf wants it, and have '*' for any
// characters: "usdt//usr/bin/shopd:shop:*".
func ExampleLoad() {
	// The traced program is usually another process.
	shop := provider.New("shop", nil)
	order := provider.NewProbe2[uint32, int64](shop, "order", "items", "cents")
	if err := shop.Load(); err != nil {
		log.Print(err)
		return
	}
	defer shop.Close()

	object, err := os.Open("testdata/shop.o") // clang -O2 -g -target bpf -c shop.bpf.c
	if err != nil {
		log.Print(err)
		return
	}
	defer object.Close()
	c, err := collection.Load(context.Background(), object, &collection.Options{Target: attach.Target{PIDs: []int{os.Getpid()}}})
	if err != nil {
		log.Print(err)
		return
	}
	defer c.Close()
	for _, site := range c.Plan("order") {
		fmt.Println(site.Probe.Provider, site.Probe.Name, site.Attached, site.ArgErrs)
	}

	order.Fire(2, 1999)
	order.Fire(1, -500) // a return

	var turnover int64
	if err := c.Maps["turnover"].Lookup(uint32(0), &turnover); err != nil {
		log.Print(err)
		return
	}
	fmt.Println(turnover)
}

// LoadSpec reads an object whose variables, programs or maps are to be changed before New loads it.
func ExampleNew() {
	object, err := os.Open("testdata/shop.o")
	if err != nil {
		log.Print(err)
		return
	}
	defer object.Close()
	spec, err := collection.LoadSpec(object)
	if err != nil {
		log.Print(err)
		return
	}
	spec.Maps["turnover"].Name = "cents"
	c, err := collection.New(context.Background(), spec, nil) // Attach attaches to what the sections name
	if err != nil {
		log.Print(err)
		return
	}
	defer c.Close()
	info, err := c.Maps["turnover"].Info()
	if err != nil {
		log.Print(err)
		return
	}
	fmt.Println(info.Name, len(c.Programs))
}

// A program that is put together in Go, by package asm, calls the functions of usdt.bpf.h.
func ExampleNew_asm() {
	shop := provider.New("shop", nil)
	order := provider.NewProbe2[uint32, int64](shop, "order", "items", "cents")
	if err := shop.Load(); err != nil {
		log.Print(err)
		return
	}
	defer shop.Close()
	add := asm.Instructions{
		asm.Mov.Imm(asm.R2, 1),                                // the number of the argument; R1 has the context
		asm.Mov.Reg(asm.R3, asm.RFP), asm.Add.Imm(asm.R3, -8), // where it goes
		asm.Call.Label("bpf_usdt_arg"), // as long bpf_usdt_arg(ctx, number, *result)
		asm.LoadMem(asm.R2, asm.RFP, -8, asm.DWord),
		asm.LoadMapValue(asm.R1, 0, 0).WithReference("sum"),
		asm.AddAtomic.Mem(asm.R1, asm.R2, asm.DWord, 0),
		asm.Mov.Imm(asm.R0, 0),
		asm.Return(),
	}
	c, err := collection.New(context.Background(), &ebpf.CollectionSpec{
		Maps:     map[string]*ebpf.MapSpec{"sum": {Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1}},
		Programs: map[string]*ebpf.ProgramSpec{"add": {SectionName: "usdt/shop:order", Type: ebpf.Kprobe, License: "GPL", Instructions: add}},
	}, nil)
	if err != nil {
		log.Print(err)
		return
	}
	defer c.Close()
	if err := c.Attach(context.Background()); err != nil {
		log.Print(err)
		return
	}
	order.Fire(2, 1999)
	order.Fire(1, -500)
	var sum int64
	err = c.Maps["sum"].Lookup(uint32(0), &sum)
	fmt.Println(sum, err)
}

// shopPins is a directory of a BPF file system, such as /sys/fs/bpf/shopd.
var shopPins string

// A daemon pins its collection before it ends, and the next one goes on with it.
func ExampleAdopt() {
	shop := provider.New("shop", nil)
	order := provider.NewProbe2[uint32, int64](shop, "order", "items", "cents")
	if err := shop.Load(); err != nil {
		log.Print(err)
		return
	}
	defer shop.Close()
	object, err := os.Open("testdata/shop.o")
	if err != nil {
		log.Print(err)
		return
	}
	defer object.Close()
	c, err := collection.Load(context.Background(), object, nil)
	if err != nil {
		log.Print(err)
		return
	}
	order.Fire(1, 100)
	if err := errors.Join(c.Pin(shopPins), c.Close()); err != nil {
		log.Print(err)
		return
	}
	order.Fire(1, 20) // nobody runs, and it counts

	c, err = collection.Adopt(shopPins)
	if err != nil {
		log.Print(err)
		return
	}
	order.Fire(1, 3)
	var turnover int64
	err = errors.Join(c.Maps["turnover"].Lookup(uint32(0), &turnover), c.Unpin(), c.Close())
	fmt.Println(turnover, err)
}

// A program in C that shows PIDs, or compares them, has
//
//	volatile const __u64 namespace[2];
//	…
//	struct bpf_pidns_info task = {};
//	bpf_get_ns_current_pid_tgid(namespace[0], namespace[1], &task, sizeof(task));
func ExampleSetPIDNamespace() {
	spec := &ebpf.CollectionSpec{Variables: map[string]*ebpf.VariableSpec{
		"namespace": {SectionName: ".rodata", Name: "namespace", Value: make([]byte, 16)}, // as LoadSpec has it
	}}
	if err := collection.SetPIDNamespace(spec.Variables["namespace"]); err != nil {
		log.Print(err)
		return
	}
	var set [2]uint64
	err := spec.Variables["namespace"].Get(&set)
	fmt.Println("inode:", set[1] != 0, err)
	// Output: inode: true <nil>
}

// TestExamples runs the examples if this process may attach.
func TestExamples(t *testing.T) {
	spec, err := collection.LoadSpec(bytes.NewReader(shopObject(t)))
	if err != nil {
		t.Fatal(err)
	}
	c, err := collection.New(t.Context(), spec, nil)
	if missing := (*attach.PrivilegeError)(nil); errors.As(err, &missing) {
		needs.Skip(t, "%v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	for _, example := range []struct {
		name string
		run  func()
		want string
	}{
		{"Load", ExampleLoad, "shop order true []\n3498\n"},
		{"New", ExampleNew, "cents 1\n"},
		{"New_asm", ExampleNew_asm, "1499 <nil>\n"},
		{"Adopt", ExampleAdopt, "123 <nil>\n"},
	} {
		t.Run(example.name, func(t *testing.T) {
			if example.name == "Adopt" {
				shopPins = filepath.Join(bpf.FileSystem(t), "shopd")
			}
			if got := stdout(t, example.run); got != example.want {
				t.Errorf("got %q, want %q", got, example.want)
			}
		})
	}
}

func shopObject(t *testing.T) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/shop.o")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// stdout returns what f prints.
func stdout(t *testing.T, f func()) string {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	before := os.Stdout
	os.Stdout = w
	f()
	os.Stdout = before
	w.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
