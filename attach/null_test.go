package attach_test

import (
	"os"
	"os/exec"
	"runtime"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/provider"
)

// TestNull checks that null pointers are told apart from memory that cannot be read, and that
// programs do not try to read there: a fault takes the kernel longer than everything else.
func TestNull(t *testing.T) {
	p := start(t, exec.Command(needs.Compile(t, "testdata/null.c", "gcc", "-O2")))
	faults := nullFaults(t, p.PID())
	s := open(t, "null:*", &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Strings: []string{"null:text:arg0", "null:behind:arg0->8", "null:reg:arg0->8", "null:counted:arg0[arg1]"}})
	where := open(t, "null:text", &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Where: `arg0 == "" || arg0 != ""`})
	count := openAggregate(t, []string{"null:text"}, attach.Count().By("arg0"), &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Strings: []string{"arg0"}})
	p.Do("")
	got := map[string][]arg{}
	for _, ev := range drain(t, s) {
		got[ev.Name] = argsOf(ev)
	}
	want := map[string][]arg{"text": number(nil), "behind": number(nil), "reg": number(nil), "counted": number(nil, int64(4))}
	for _, name := range []string{"behind", "reg"} {
		want[name][0].Err = "memory not readable" // the pointer itself
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("events (-want +got):\n%s", d)
	}
	if all := drain(t, where); len(all) > 0 {
		t.Errorf("a null text fulfils a comparison: %v", all)
	}
	if groups, err := count.Read(); err != nil || len(groups) != 1 || groups[0].Count != 1 || groups[0].By[0].Value != nil {
		t.Errorf("groups %v, error %v, want one of a null text", groups, err)
	}
	if n := faults(); n > 0 {
		t.Errorf("%d faults at null", n)
	}
}

// TestNullFollowed is TestNull for pointers of records that are followed.
func TestNullFollowed(t *testing.T) {
	p := provider.New("nullrecord", nil)
	t.Cleanup(func() { p.Close() })
	probe := provider.NewStructProbe[nestedRecord](p, "record")
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	faults := nullFaults(t, os.Getpid())
	s := open(t, "nullrecord:record", &attach.Options{Target: attach.Target{PIDs: []int{os.Getpid()}}, Follow: []string{"Up", "Up.Next", "Count", "Title"}})
	probe.Fire(&nestedRecord{ID: 5})
	probe.Fire(nil)
	all := drain(t, s)
	if len(all) != 2 {
		t.Fatalf("%d events, want two", len(all))
	}
	for _, a := range all[1].Args {
		if a.Value != nil || a.Err == nil {
			t.Errorf("%s of no record is %v, error %v, want an error", a.Name, a.Value, a.Err)
		}
	}
	for _, a := range all[0].Args {
		switch a.Name {
		case "Up", "Count", "Title":
			if a.Value != nil || a.Err != nil {
				t.Errorf("%s is %v, error %v, want nil", a.Name, a.Value, a.Err)
			}
		}
	}
	if n := faults(); n > 0 {
		t.Errorf("%d faults at null", n)
	}
}

// nullFaults returns a function that returns how often the kernel, for a process, has failed to
// read the first page of memory since. Only x86 has the tracepoint that tells, and only root
// may ask: elsewhere the function returns 0.
func nullFaults(t *testing.T, pid int) func() uint64 {
	t.Helper()
	if runtime.GOARCH != "amd64" || os.Geteuid() != 0 {
		return func() uint64 { return 0 }
	}
	needs.Tracefs(t)
	count, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { count.Close() })
	const address = 8 // in the tracepoint's record: events/exceptions/page_fault_kernel/format
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type: ebpf.TracePoint, License: "Dual MIT/GPL",
		Instructions: asm.Instructions{
			asm.LoadMem(asm.R6, asm.R1, address, asm.DWord),
			asm.JGE.Imm(asm.R6, 4096, "exit"),
			asm.FnGetCurrentPidTgid.Call(),
			asm.RSh.Imm(asm.R0, 32),
			asm.JNE.Imm(asm.R0, int32(pid), "exit"),
			asm.LoadMapValue(asm.R1, count.FD(), 0),
			asm.Mov.Imm(asm.R2, 1),
			asm.AddAtomic.Mem(asm.R1, asm.R2, asm.DWord, 0),
			asm.Mov.Imm(asm.R0, 0).WithSymbol("exit"),
			asm.Return(),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { prog.Close() })
	l, err := link.Tracepoint("exceptions", "page_fault_kernel", prog, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return func() (n uint64) {
		if err := count.Lookup(uint32(0), &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
}
