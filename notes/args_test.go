package notes

import (
	"debug/elf"
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestParseArgs(t *testing.T) {
	for _, c := range grammarCases(t) {
		args := ParseArgs(c.machine, c.class, c.input)
		if len(args) != 1 {
			t.Errorf("%s:%d: %q: got %d arguments, want 1", c.file, c.line, c.input, len(args))
			continue
		}
		a := args[0]
		if got := describe(a); got != c.want {
			t.Errorf("%s:%d: %q: got  %s\nwant %s", c.file, c.line, c.input, got, c.want)
		}
		if a.Text != c.input || a.Offset != 0 {
			t.Errorf("%s:%d: got text %q at %d, want %q at 0", c.file, c.line, a.Text, a.Offset, c.input)
		}
		checkRoundTrip(t, c.machine, c.class, a)
	}
}

// checkRoundTrip checks that a is unchanged after it is appended and parsed again.
func checkRoundTrip(t *testing.T, m Machine, class Class, a Arg) {
	t.Helper()
	text := string(a.Append(nil, m))
	if a.Err != nil {
		if text != a.Text {
			t.Errorf("%q: Append gave %q for an argument with an error", a.Text, text)
		}
		return
	}
	again := ParseArgs(m, class, text)
	if len(again) != 1 {
		t.Errorf("%q: Append gave %q, which is %d arguments", a.Text, text, len(again))
		return
	}
	b := again[0]
	if b.Text != text || b.Offset != 0 {
		t.Errorf("%q: parsed again as %q at %d", text, b.Text, b.Offset)
	}
	b.Text, b.Offset = a.Text, a.Offset
	if !reflect.DeepEqual(a, b) {
		t.Errorf("%q: Append gave %q\ngot  %+v\nwant %+v", a.Text, text, b, a)
	}
	if second := string(b.Append(nil, m)); second != text {
		t.Errorf("%q: Append gave %q, then %q", a.Text, text, second)
	}
}

func TestParseArgsSplits(t *testing.T) {
	for _, c := range []struct {
		machine Machine
		in      string
		want    []string
	}{
		{EM_X86_64, "", nil},
		{EM_X86_64, ":", nil},
		{EM_X86_64, ":8@%rax", nil},
		{EM_X86_64, " \t ", nil},
		{EM_X86_64, "8@%rdi -4@%esi 8@48(%rax)", []string{"8@%rdi", "-4@%esi", "8@48(%rax)"}},
		{EM_X86_64, "  8@%rdi   -4@%esi\t2@%ax ", []string{"8@%rdi", "-4@%esi", "2@%ax"}},
		{EM_X86_64, "8@( %rax, %rbx, 8 ) 4@%eax", []string{"8@( %rax, %rbx, 8 )", "4@%eax"}},
		{EM_X86_64, "-4@$0 8@$1234 %rdi %rax", []string{"-4@$0", "8@$1234", "%rdi", "%rax"}},
		{EM_386, "-4@40+c@GOTOFF(%ebx) -4@%gs:t@ntpoff 8f@%st(1)", []string{"-4@40+c@GOTOFF(%ebx)", "-4@%gs:t@ntpoff", "8f@%st(1)"}},
		{EM_AARCH64, "8@[x0, x1, lsl 3] -4@[sp, 60] 8@x0", []string{"8@[x0, x1, lsl 3]", "-4@[sp, 60]", "8@x0"}},
		{EM_LOONGARCH, "8@$r4, 8 -4@$fp, -20 8@$a0", []string{"8@$r4, 8", "-4@$fp, -20", "8@$a0"}},

		// An error stays within its argument.
		{EM_AARCH64, "8@[x0, -16f@x1 8@x2", []string{"! 8@[x0,", "-16f@x1", "8@x2"}},
		{EM_AARCH64, "8@[x0, x1 8@[x2, 8]", []string{"! 8@[x0, x1", "8@[x2, 8]"}},
		{EM_X86_64, "8@(%rax 4@%eax 8@((%rax) 8@%rbx", []string{"! 8@(%rax", "4@%eax", "! 8@((%rax)", "8@%rbx"}},
		{EM_X86_64, "8@%rax) 8@%rbx] 4@%eax", []string{"! 8@%rax)", "! 8@%rbx]", "4@%eax"}},
		{EM_X86_64, "8@%rax, 4@%eax", []string{"! 8@%rax,", "4@%eax"}},
		{EM_X86_64, "8@(%rax,  ", []string{"! 8@(%rax,"}},
		{EM_X86_64, "3@%rax 4@%eax 8@", []string{"! 3@%rax", "4@%eax", "! 8@"}},
		{Machine(elf.EM_SPARC), "8@%o0 4@[%o1 + 4]", []string{"! 8@%o0", "! 4@[%o1 + 4]"}},
	} {
		var got []string
		for _, a := range ParseArgs(c.machine, ELFCLASS64, c.in) {
			text := a.Text
			if a.Err != nil {
				text = "! " + text
			}
			got = append(got, text)
			if c.in[a.Offset:a.Offset+len(a.Text)] != a.Text {
				t.Errorf("%q: %q is not at %d", c.in, a.Text, a.Offset)
			}
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v %q: got %q, want %q", c.machine, c.in, got, c.want)
		}
	}
}

func TestSyntaxErrorOffset(t *testing.T) {
	args := ParseArgs(EM_X86_64, ELFCLASS64, "8@%rdi  4@(%rax,%rbx,3) 4@%eax")
	var e *SyntaxError
	if len(args) != 3 || !errors.As(args[1].Err, &e) {
		t.Fatalf("got %+v, want three arguments, the second with a SyntaxError", args)
	}
	if e.Offset != 21 || e.Arg != "4@(%rax,%rbx,3)" {
		t.Errorf("got the error of %q at %d, want at the 3 of the scale, 21", e.Arg, e.Offset)
	}
	want := `argument "4@(%rax,%rbx,3)": scale is 3, not 1, 2, 4 or 8 (at byte 21 of the argument string)`
	if e.Error() != want {
		t.Errorf("got  %s\nwant %s", e, want)
	}
}

// TestParseArgsPostgres parses the strings of checkpoint__done in Debian's
// postgresql-15 for amd64, and of buffer__sync__done for i386.
func TestParseArgsPostgres(t *testing.T) {
	args := ParseArgs(EM_X86_64, ELFCLASS64,
		"-4@40+CheckpointStats(%rip) -4@NBuffers(%rip) -4@44+CheckpointStats(%rip) -4@48+CheckpointStats(%rip) -4@52+CheckpointStats(%rip)")
	if len(args) != 5 {
		t.Fatalf("got %d arguments, want 5", len(args))
	}
	for i, want := range []string{
		"signed 4 mem base=rip disp=40 symbol=CheckpointStats",
		"signed 4 mem base=rip symbol=NBuffers",
		"signed 4 mem base=rip disp=44 symbol=CheckpointStats",
		"signed 4 mem base=rip disp=48 symbol=CheckpointStats",
		"signed 4 mem base=rip disp=52 symbol=CheckpointStats",
	} {
		if got := describe(args[i]); got != want {
			t.Errorf("argument %d: got %s, want %s", i, got, want)
		}
	}
}

func TestParseArgsLimit(t *testing.T) {
	const n = 1 << 20
	args := ParseArgs(EM_X86_64, ELFCLASS64, strings.Repeat("0 ", n))
	if len(args) != maxArgs {
		t.Fatalf("got %d arguments, want %d", len(args), maxArgs)
	}
	last := args[maxArgs-1]
	if last.Err == nil || last.Offset != 2*(maxArgs-1) || len(last.Text) != 2*n-last.Offset {
		t.Errorf("got %d bytes at %d with error %v, want the rest of the string with an error", len(last.Text), last.Offset, last.Err)
	}
	args = ParseArgs(EM_X86_64, ELFCLASS64, strings.Repeat("0 ", maxArgs))
	if last = args[maxArgs-1]; last.Err != nil {
		t.Errorf("%d arguments: the last has the error %v", maxArgs, last.Err)
	}
}

// TestParseArgsLong checks that the time for long input grows no faster than its
// length.
func TestParseArgsLong(t *testing.T) {
	if testing.Short() {
		t.Skip("short: no kernel makes a difference to what text means")
	}
	const n = 1 << 20
	for _, s := range []string{
		strings.Repeat("[", n), strings.Repeat("[ ", n), strings.Repeat("(,", n), strings.Repeat("9", n),
		"8@$" + strings.Repeat("1+", n), "8@$" + strings.Repeat("a", n), "8@%st(" + strings.Repeat("1", n),
		strings.Repeat(", ", n), "8@(" + strings.Repeat(" ", n), strings.Repeat("8@[", n),
	} {
		for _, m := range []Machine{EM_X86_64, EM_AARCH64, EM_LOONGARCH} {
			for _, a := range ParseArgs(m, ELFCLASS64, s) {
				if a.Err == nil && m != EM_LOONGARCH && s[0] != '8' {
					t.Errorf("%v: %.20q… has no error", m, a.Text)
				}
			}
		}
	}
}

func TestWiden(t *testing.T) {
	for _, c := range []struct {
		in   string
		bits uint64
		want uint64
	}{
		{"4@$-1", ^uint64(0), 0xffffffff},
		{"4@$4294967295", 0xffffffff, 0xffffffff},
		{"-4@$-9", ^uint64(8), ^uint64(8)},
		{"-4@%eax", 0x1234_ffff_fff7, ^uint64(8)},
		{"-1@%al", 0x80, ^uint64(0x7f)},
		{"1@%al", 0xff80, 0x80},
		{"-2@%ax", 0x17fff, 0x7fff},
		{"-8@%rax", 1 << 63, 1 << 63},
		{"16@%rax", 1 << 63, 1 << 63},
	} {
		a := ParseArgs(EM_X86_64, ELFCLASS64, c.in)[0]
		if got := a.Widen(c.bits); got != c.want {
			t.Errorf("%s: Widen(%#x) = %#x, want %#x", c.in, c.bits, got, c.want)
		}
	}
}

func TestParseArgsAllocs(t *testing.T) {
	for _, c := range []struct {
		machine Machine
		in      string
	}{
		{EM_X86_64, "8@%rdi -4@%esi 8@48(%rax)"},
		{EM_AARCH64, "8@x0 -4@[sp, 60] 1@[x2, x1]"},
		{EM_PPC64, "8@9 -4@i-1 4@0(31)"},
		{EM_S390, "8@%r2 -4@164(%r15) -16@%r6"},
		{EM_RISCV, "8@a0 -4@-256(a5) 4@-1"},
	} {
		if n := testing.AllocsPerRun(100, func() { ParseArgs(c.machine, ELFCLASS64, c.in) }); n != 1 {
			t.Errorf("%v %q: got %v allocations, want 1, the slice", c.machine, c.in, n)
		}
	}
}

func FuzzParseArgs(f *testing.F) {
	for _, c := range grammarCases(f) {
		f.Add(uint16(c.machine), byte(c.class), c.input)
	}
	for _, s := range []string{":", " ", "8@[x0, -16f@x1 8@x2", "8@$r4, 8 4@$r5", "8@(%rax 4@%eax)", "8@\x00", "8@\xff(%rip)"} {
		f.Add(uint16(EM_X86_64), byte(ELFCLASS64), s)
		f.Add(uint16(EM_AARCH64), byte(ELFCLASS64), s)
	}
	f.Fuzz(func(t *testing.T, machine uint16, class byte, s string) {
		m, c := Machine(machine), Class(class)
		end := 0
		for _, a := range ParseArgs(m, c, s) {
			if a.Offset < end || a.Offset+len(a.Text) > len(s) || s[a.Offset:a.Offset+len(a.Text)] != a.Text || a.Text == "" {
				t.Fatalf("%q: argument %q at %d, behind %d", s, a.Text, a.Offset, end)
			}
			end = a.Offset + len(a.Text)
			if a.Err != nil {
				var e *SyntaxError
				if !errors.As(a.Err, &e) || e.Offset < a.Offset || e.Offset > end || e.Arg != a.Text || e.Msg == "" {
					t.Fatalf("%q: %q at %d has the error %#v", s, a.Text, a.Offset, a.Err)
				}
				continue
			}
			checkMeaning(t, m, c, a)
			checkRoundTrip(t, m, c, a)
		}
	})
}

// checkMeaning checks that the fields of a, which has no error, are as their comments
// promise.
func checkMeaning(t *testing.T, m Machine, class Class, a Arg) {
	switch a.Size {
	case 1, 2, 4, 8, 16:
	case 12:
		if m != EM_386 || !a.Float {
			t.Errorf("%q: size 12", a.Text)
		}
	default:
		t.Errorf("%q: size %d", a.Text, a.Size)
	}
	for _, name := range []string{a.Reg, a.Pair, a.Base, a.Index, a.Segment} {
		if name == "" {
			continue
		}
		if _, ok := LookupRegister(m, class, name); !ok {
			t.Errorf("%q: register %q is not known", a.Text, name)
		}
	}
	ok := false
	switch a.Kind {
	case Imm:
		ok = a.Symbol == "" && a.Disp == 0 || a.Symbol != "" && a.Value == 0
	case Reg:
		ok = a.Reg != ""
	case Mem:
		ok = a.Index == "" && a.Scale == 0 || a.Index != "" && a.Scale > 0 && a.Scale&(a.Scale-1) == 0
	}
	if !ok || a.Kind != Reg && a.Reg+a.Pair != "" || a.Kind != Mem && a.Base+a.Index+a.Segment+a.Extend != "" {
		t.Errorf("%q: fields contradict: %+v", a.Text, a)
	}
}

// benchmarked are argument strings as compilers write them.
var benchmarked = []struct {
	name    string
	machine Machine
	in      string
}{
	{"x86-64", EM_X86_64, "8@%rdi -4@%esi 8@48(%rax)"},
	{"arm64", EM_AARCH64, "8@x0 -4@x1 8@[sp, 48]"},
	{"ppc64", EM_PPC64, "8@9 -4@i-1 4@0(31)"},
}

func BenchmarkParseArgs(b *testing.B) {
	for _, c := range benchmarked {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				ParseArgs(c.machine, ELFCLASS64, c.in)
			}
		})
	}
}

func BenchmarkAppendArg(b *testing.B) {
	for _, c := range benchmarked {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			args, buf := ParseArgs(c.machine, ELFCLASS64, c.in), make([]byte, 0, 64)
			for b.Loop() {
				for i := range args {
					buf = args[i].Append(buf[:0], c.machine)
				}
			}
		})
	}
}
