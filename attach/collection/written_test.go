package collection_test

import (
	"fmt"
	"math"
	"os/exec"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/attach/collection"
	"github.com/go-usdt/usdt/internal/systest/bpf"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// writtenArg is an argument as [written] stores it.
type writtenArg struct{ Value, Result int64 }

// writtenSite is what [written] stores of a site.
type writtenSite struct {
	Args  [13]writtenArg
	Count int64
}

// written is a program in Go that stores all arguments of a site in an array, at its cookie.
func written(flags uint32) *ebpf.CollectionSpec {
	ins := asm.Instructions{
		asm.Mov.Reg(asm.R6, asm.R1),
		asm.Call.Label("bpf_usdt_cookie"),
		asm.StoreMem(asm.RFP, -4, asm.R0, asm.Word),
		asm.LoadMapPtr(asm.R1, 0).WithReference("sites"),
		asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, -4),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "exit"),
		asm.Mov.Reg(asm.R7, asm.R0),
		asm.Mov.Reg(asm.R1, asm.R6),
		asm.Call.Label("bpf_usdt_arg_cnt"),
		asm.StoreMem(asm.R7, 13*16, asm.R0, asm.DWord),
	}
	for i := range int16(13) {
		ins = append(ins,
			asm.Mov.Reg(asm.R1, asm.R6),
			asm.Mov.Imm(asm.R2, int32(i)),
			asm.Mov.Reg(asm.R3, asm.RFP), asm.Add.Imm(asm.R3, -16),
			asm.Call.Label("bpf_usdt_arg"),
			asm.StoreMem(asm.R7, 16*i+8, asm.R0, asm.DWord),
			asm.LoadMem(asm.R1, asm.RFP, -16, asm.DWord),
			asm.StoreMem(asm.R7, 16*i, asm.R1, asm.DWord),
		)
	}
	ins = append(ins, asm.Mov.Imm(asm.R0, 0).WithSymbol("exit"), asm.Return())
	return &ebpf.CollectionSpec{
		Maps:     map[string]*ebpf.MapSpec{"sites": {Type: ebpf.Array, KeySize: 4, ValueSize: 14*16 - 8, MaxEntries: 8}},
		Programs: map[string]*ebpf.ProgramSpec{"all": {SectionName: "usdt", Type: ebpf.Kprobe, License: "GPL", Flags: flags, Instructions: ins}},
	}
}

// TestWritten has a program that is written in Go read arguments by bpf_usdt_arg.
func TestWritten(t *testing.T) {
	const enoent = -int64(unix.ENOENT)
	for _, test := range []struct {
		command []string
		flags   uint32
		bits    int
	}{
		{[]string{"gcc", "-O2"}, 0, 64},
		{[]string{"gcc", "-O0"}, 0, 64},
		{[]string{"clang", "-O2"}, unix.BPF_F_SLEEPABLE, 64},
		{needs.I386, unix.BPF_F_SLEEPABLE, 32},
	} {
		t.Run(fmt.Sprint(strings.Join(test.command[:2], ""), test.bits), func(t *testing.T) {
			target := compile(t, test.command...)
			p := start(t, exec.Command(target))
			c := newCollection(t, written(test.flags), &collection.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
			want := map[string][]int64{
				"ints":   {-8, 200, -1600, 60000, -320000, 4000000000, -64000000000, -0x123456789abcdf0},
				"consts": {-9, math.MaxUint32, math.MaxInt64, 255},
				"memory": {-20, 'b', 30},
				"global": {-77, -2, 4242},
			}
			if test.bits == 32 {
				want["ints"] = want["ints"][:6]
			}
			probes := []string{"ints", "consts", "memory", "global"}
			plans := map[string]attach.Plan{}
			for i, name := range probes {
				plans[name] = attachProgram(t, c, "all", target+":args:"+name, &collection.Options{Cookie: uint64(i)}).Plan()
			}
			p.Do("")
			for i, name := range probes {
				var got writtenSite
				if err := c.Maps["sites"].Lookup(uint32(i), &got); err != nil {
					t.Fatal(err)
				}
				failed := map[int]error{}
				for _, err := range plans[name][0].ArgErrs {
					failed[err.(*collection.ArgError).Index] = err
				}
				if len(failed) == len(want[name]) || got.Count != int64(len(want[name])) {
					t.Errorf("%s: %d arguments, want %d, refused: %v", name, got.Count, len(want[name]), failed)
				}
				for n, arg := range got.Args {
					expected := writtenArg{0, enoent}
					if failed[n] != nil {
						expected = writtenArg{0, -int64(unix.EINVAL)}
					} else if n < len(want[name]) {
						expected = writtenArg{want[name][n], 0}
					}
					if arg != expected {
						t.Errorf("%s: argument %d is %+v, want %+v", name, n, arg, expected)
					}
				}
			}
		})
	}
}

// TestWrittenBesideC has a program in Go call what programs in C of its collection have with specs
// of another layout.
func TestWrittenBesideC(t *testing.T) {
	spec := bpf.ReadSpec(t, newestObject)
	for name, p := range written(0).Programs {
		spec.Programs[name] = p
	}
	_, err := collection.New(t.Context(), spec, nil)
	needPrivileges(t, err)
	if err == nil || !strings.Contains(err.Error(), "two collections") {
		t.Errorf("got error %v", err)
	}
}
