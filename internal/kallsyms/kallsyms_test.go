package kallsyms_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/kallsyms"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

func fixture(t *testing.T) *kallsyms.Table {
	t.Helper()
	f, err := os.Open("testdata/kallsyms")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	table, err := kallsyms.Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// TestAt checks which function an address belongs to: inside, at the borders, where several begin, and
// where there is none.
func TestAt(t *testing.T) {
	table := fixture(t)
	for _, c := range []struct {
		address uint64
		want    string
	}{
		{0x10, ""},
		{0xffffffff80ffffff, ""},
		{0xffffffff81000000, "startup_64+0x0"},
		{0xffffffff8100003f, "startup_64+0x3f"},
		{0xffffffff81000040, "ovl_copy+0x0"},
		{0xffffffff810001ff, "arch_show_interrupts+0xff"},
		{0xffffffff81000fff, "last_of_text+0xbff"},
		{0xffffffff81001000, ""},
		{0xffffffff81001009, ""},
		{0xffffffff81002000, "init_of_none+0x0"},
		{0xffffffff81002001, "init_of_none+0x1"},
		{0xffffffffc0000010, "first_of_ext4+0x10 [ext4]"},
		{0xffffffffc00001ff, "second_of_ext4+0xff [ext4]"},
		{0xffffffffc0000200, ""},
		{0xffffffffc0000401, "exported+0x1 [nf_nat]"},
		{0xffffffffc0002010, "bpf_prog_4d9dbb27f4207420_usdt+0x10 [bpf]"},
		{0xffffffffc0002000 + 1<<20, ""},
		{1<<64 - 1, ""},
	} {
		got := ""
		if f, offset, ok := table.At(c.address); ok {
			if f.Address+offset != c.address {
				t.Errorf("At(%#x): address %#x and offset %#x", c.address, f.Address, offset)
			}
			if got = fmt.Sprintf("%s+%#x", f.Name, offset); f.Module != "" {
				got += " [" + f.Module + "]"
			}
		}
		if got != c.want {
			t.Errorf("At(%#x) = %q, want %q", c.address, got, c.want)
		}
	}
}

// TestAll checks that functions come by address, those of one address as the kernel lists them.
func TestAll(t *testing.T) {
	var got []string
	table := fixture(t)
	for f := range table.All() {
		got = append(got, f.Name)
	}
	want := strings.Fields("startup_64 _stext _text ovl_copy arch_show_interrupts ovl_copy last_of_text init_of_none" +
		" first_of_ext4 second_of_ext4 exported ovl_copy bpf_prog_4d9dbb27f4207420_usdt")
	if !slices.Equal(got, want) {
		t.Errorf("All() = %q, want %q", got, want)
	}
}

// TestHidden checks that a kernel which shows no addresses is told from one without functions.
func TestHidden(t *testing.T) {
	_, err := kallsyms.Parse(strings.NewReader("0000000000000000 A percpu\n0000000000000000 T _text\n0000000000000000 t f\t[ext4]\n"))
	if !errors.Is(err, kallsyms.ErrHidden) {
		t.Errorf("error is %v, want %v", err, kallsyms.ErrHidden)
	}
	if table, err := kallsyms.Parse(strings.NewReader("")); err != nil || len(slices.Collect(table.All())) > 0 {
		t.Errorf("of nothing: %v, want an empty table", err)
	}
}

// TestDamaged checks that damaged lines are named.
func TestDamaged(t *testing.T) {
	for _, line := range []string{"", " ", "T", "xyz T f", "ffffffff81000000", "ffffffff81000000 T", "ffffffff81000000 T ", "ffffffff81000000 Tf",
		"1ffffffff81000000 T f", "+fff T f", "ffffffff81000000 T \t[m]", "ffffffff81000000 T a\x00b", "ffffffff81000000 T " + strings.Repeat("x", 1<<16)} {
		_, err := kallsyms.Parse(strings.NewReader("ffffffff81000000 T _text\n" + line + "\n"))
		if err == nil || !strings.Contains(err.Error(), "line 2: ") {
			t.Errorf("%.40q: error is %v, want one of line 2", line, err)
		}
	}
}

// TestRead checks the running kernel's functions: each is found by its address.
func TestRead(t *testing.T) {
	needs.Root(t)
	table, err := kallsyms.Read()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for f := range table.All() {
		if n++; n%97 != 0 {
			continue
		}
		if at, offset, ok := table.At(f.Address); !ok || offset != 0 || at.Address != f.Address {
			t.Errorf("At(%#x) = %v, %d, %v, want the function of that address: %v", f.Address, at, offset, ok, f)
		}
	}
	if n < 10000 {
		t.Errorf("%d functions, want those of a kernel", n)
	}
}

// FuzzParse checks that what is read can be written and read again, and that functions are found.
func FuzzParse(f *testing.F) {
	seed, err := os.ReadFile("testdata/kallsyms")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Add([]byte("0 T f\n0 D d\n1 t g\t[m]"))
	f.Add([]byte("ffffffffffffffff T f\nffffffffffffffff D d\n"))
	f.Fuzz(func(t *testing.T, input []byte) {
		table, err := kallsyms.Parse(bytes.NewReader(input))
		if err != nil {
			return
		}
		var b bytes.Buffer
		var all []kallsyms.Function
		for f := range table.All() {
			if n := len(all); n > 0 && all[n-1].Address > f.Address {
				t.Fatalf("%v comes behind %v", f, all[n-1])
			}
			all = append(all, f)
			fmt.Fprintf(&b, "%x t %s\t[%s]\n", f.Address, f.Name, f.Module)
		}
		for _, f := range all[:min(len(all), 100)] {
			if at, offset, ok := table.At(f.Address); !ok || offset != 0 || at.Address != f.Address {
				t.Fatalf("at the address of %v is %v, %d, %v", f, at, offset, ok)
			}
		}
		again, err := kallsyms.Parse(&b)
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Collect(again.All()); !slices.Equal(got, all) {
			t.Fatalf("read again: %v, want %v", got, all)
		}
	})
}

// BenchmarkRead measures reading the running kernel's functions, most of which is the kernel's own
// part, and parsing alone.
func BenchmarkRead(b *testing.B) {
	file, err := os.ReadFile("/proc/kallsyms")
	if err != nil {
		b.Fatal(err)
	}
	b.Run("kernel", func(b *testing.B) {
		for b.Loop() {
			if _, err := kallsyms.Read(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("parse", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := kallsyms.Parse(bytes.NewReader(file)); err != nil {
				b.Fatal(err)
			}
		}
	})
}
