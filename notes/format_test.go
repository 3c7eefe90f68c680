package notes_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/notes"
)

// TestFormat checks that FORMAT.md has the names, sizes and bits that this package has.
func TestFormat(t *testing.T) {
	data, err := os.ReadFile("../FORMAT.md")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(string(data)), " ")
	thousands := func(n int) string { return fmt.Sprintf("%d,%03d", n/1000, n%1000) }
	for _, want := range []string{
		"`" + notes.SectionName + "`", "`" + notes.BaseSectionName + "`", "`" + notes.ProbeSectionName + "`", "`" + notes.TypesSectionName + "`",
		"`" + notes.DurationType + "`", "`" + notes.TimeType + "`", "`" + notes.AddrType + "`", "`" + notes.HexType + "`", "`" + notes.BytesType + "`",
		"`" + notes.NetIPType + "`", "`" + notes.GoTimeType + "`", "`" + notes.GoAddrType + "`",
		fmt.Sprintf("at most %d KiB, %s fields and %d structs", notes.MaxBlockSize>>10, thousands(notes.MaxFields), notes.MaxNesting),
	} {
		if !strings.Contains(text, want) {
			t.Errorf("FORMAT.md lacks %s", want)
		}
	}
	for flag, want := range map[notes.TypeFlags]string{notes.CalledStub: "the site is a called stub", notes.GoroutineRegister: "the register in which Go keeps the goroutine", notes.IPv4Register: "the first register of an integer argument"} {
		bit := 0
		for flag>>bit != 1 {
			bit++
		}
		if want = fmt.Sprintf("bit %d, %s", bit, want); !strings.Contains(text, want) {
			t.Errorf("FORMAT.md lacks %q", want)
		}
	}
	// A time.Time is three words, as FORMAT.md says; so many bits of the first are
	// nanoseconds, of which there are fewer than that holds.
	if notes.GoWords != 3*8 || 1<<notes.GoNanosecondBits < 1e9 || 1<<(notes.GoNanosecondBits-1) > 1e9 {
		t.Errorf("a time has %d bytes and %d bits of nanoseconds", notes.GoWords, notes.GoNanosecondBits)
	}
	if notes.MaxString >= notes.MaxBlockSize {
		t.Errorf("a string of %d bytes is larger than a block", notes.MaxString)
	}
}

// TestRegisterKinds checks the kind of a register of each kind.
func TestRegisterKinds(t *testing.T) {
	for _, test := range []struct {
		machine notes.Machine
		name    string
		want    notes.RegisterKind
	}{
		{notes.EM_X86_64, "rdi", notes.GeneralRegister}, {notes.EM_X86_64, "xmm1", notes.VectorRegister}, {notes.EM_X86_64, "rip", notes.ProgramCounter},
		{notes.EM_AARCH64, "xzr", notes.ZeroRegister}, {notes.EM_X86_64, "fs", notes.OtherRegister},
	} {
		if r, ok := notes.LookupRegister(test.machine, notes.ELFCLASS64, test.name); !ok || r.Kind != test.want {
			t.Errorf("%s: got %v, %t, want %v", test.name, r.Kind, ok, test.want)
		}
	}
}

// TestAppendArgs checks that arguments are decoded behind the ones that are there, into the same
// memory.
func TestAppendArgs(t *testing.T) {
	buf := notes.AppendArgs(make([]notes.Arg, 0, 8), notes.EM_X86_64, notes.ELFCLASS64, "8@%rdi")
	all := notes.AppendArgs(buf, notes.EM_X86_64, notes.ELFCLASS64, "4@%esi 3@%eax")
	if len(all) != 3 || all[0].Reg != "rdi" || all[1].Reg != "esi" || all[2].Err == nil || &all[0] != &buf[0] {
		t.Errorf("got %+v", all)
	}
}
