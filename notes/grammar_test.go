package notes

import (
	"bufio"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// grammarCase is a line of a file testdata/args/ARCH.txt:
//
//	ARGUMENT => FIELDS
//	ARGUMENT => error at OFFSET: MESSAGE
//
// where FIELDS is what describe returns for the decoded argument. A line "machine
// EM_X CLASS" applies to the lines that follow it; "# " begins a comment.
type grammarCase struct {
	file    string
	line    int
	machine Machine
	class   Class
	input   string
	want    string
}

func grammarCases(t testing.TB) []grammarCase {
	files, err := filepath.Glob("testdata/args/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no grammar files: %v", err)
	}
	var cases []grammarCase
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		c := grammarCase{file: file}
		for s := bufio.NewScanner(f); s.Scan(); {
			c.line++
			line := s.Text()
			if line == "" || strings.HasPrefix(line, "# ") {
				continue
			}
			if name, ok := strings.CutPrefix(line, "machine "); ok {
				name, class, _ := strings.Cut(name, " ")
				c.machine, c.class = machineNamed(t, name), classNamed(t, class)
				continue
			}
			var ok bool
			if c.input, c.want, ok = strings.Cut(line, " => "); !ok {
				t.Fatalf("%s:%d: no =>", file, c.line)
			}
			cases = append(cases, c)
		}
	}
	return cases
}

func machineNamed(t testing.TB, name string) Machine {
	for m := range Machine(1000) {
		if elf.Machine(m).String() == name {
			return m
		}
	}
	t.Fatalf("unknown machine %q", name)
	return 0
}

func classNamed(t testing.TB, name string) Class {
	for _, c := range []Class{ELFCLASS32, ELFCLASS64} {
		if elf.Class(c).String() == name {
			return c
		}
	}
	t.Fatalf("unknown class %q", name)
	return 0
}

// describe returns the fields of a that are not zero, except Text and Offset: "signed
// 8 float imm VALUE", "8 reg rax:rdx", "8 mem fs:base=rax index=rbx*8 disp=16
// symbol=s@GOTOFF".
func describe(a Arg) string {
	if a.Err != nil {
		var e *SyntaxError
		if !errors.As(a.Err, &e) {
			return "not a SyntaxError: " + a.Err.Error()
		}
		return fmt.Sprintf("error at %d: %s", e.Offset, e.Msg)
	}
	var b strings.Builder
	if a.Signed {
		b.WriteString("signed ")
	}
	fmt.Fprint(&b, a.Size)
	if a.Float {
		b.WriteString(" float")
	}
	fmt.Fprint(&b, " ", a.Kind)
	if a.Kind == Imm && (a.Symbol == "" || a.Value != 0) {
		if int64(a.Value) < 0 && !a.Signed {
			fmt.Fprintf(&b, " %#x", a.Value)
		} else {
			fmt.Fprint(&b, " ", int64(a.Value))
		}
	}
	if a.Reg != "" {
		b.WriteString(" " + a.Reg)
	}
	if a.Pair != "" {
		b.WriteString(":" + a.Pair)
	}
	for _, f := range []struct{ name, value string }{
		{"segment", a.Segment}, {"base", a.Base}, {"index", a.Index}, {"extend", a.Extend},
	} {
		if f.value == "" {
			continue
		}
		fmt.Fprintf(&b, " %s=%s", f.name, f.value)
		if f.name == "index" {
			fmt.Fprintf(&b, "*%d", a.Scale)
		}
	}
	if a.Disp != 0 {
		fmt.Fprintf(&b, " disp=%d", a.Disp)
	}
	if a.Symbol != "" {
		b.WriteString(" symbol=" + a.Symbol)
		if a.Reloc != "" {
			b.WriteString(" reloc=" + a.Reloc)
		}
	}
	return b.String()
}
