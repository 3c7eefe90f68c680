package collection_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/attach/collection"
)

// TestRefusedProgram checks that the error of a collection names the program that
// the verifier refuses and gives its reason.
func TestRefusedProgram(t *testing.T) {
	program := func(name, section string, code ...asm.Instruction) *ebpf.ProgramSpec {
		return &ebpf.ProgramSpec{Name: name, Type: ebpf.Kprobe, SectionName: section, License: "GPL", Instructions: append(code, asm.Mov.Imm(asm.R0, 0), asm.Return())}
	}
	spec := &ebpf.CollectionSpec{Programs: map[string]*ebpf.ProgramSpec{
		"fine": program("fine", "uprobe"),
		"set":  program("set", "uprobe"),
		// No kernel lets a program read below its frame.
		"set_more": program("set_more", "uprobe.s", asm.Mov.Imm(asm.R3, 7), asm.LoadMem(asm.R2, asm.R10, -1024, asm.DWord)),
	}}
	c, err := collection.New(t.Context(), spec, nil)
	if err == nil {
		c.Close()
		t.Fatal("the collection was loaded")
	}
	needPrivileges(t, err)
	for _, want := range []string{
		"load collection: the kernel's verifier refuses program set_more in section uprobe.s: ", "r3 = 7", "*(u64 *)(r10 -1024)", "invalid read from stack",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q, want %q in it", err, want)
		}
	}
	if strings.Contains(err.Error(), "processed") || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %q has statistics or lines", err)
	}
	if v := (*ebpf.VerifierError)(nil); !errors.As(err, &v) || len(v.Log) == 0 {
		t.Errorf("the error %v does not lead to the verifier's log", err)
	}
}
