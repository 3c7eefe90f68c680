package kernfunc

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-usdt/usdt/internal/systest/turns"
)

const kallsyms = `ffffffff81000000 T _text
ffffffff81000100 T vfs_read
ffffffff81000200 t __do_sys_getppid
ffffffff81000200 T __x64_sys_getppid
ffffffff810002f8 t notrace_helper
ffffffff81000300 t init_once
ffffffff81000400 t init_once
ffffffff81000500 t init_once
ffffffff81000600 T vfs_write.isra.0
ffffffff81000700 D jiffies
ffffffffc0001000 t ext4_file_write_iter	[ext4]
ffffffffc0002000 t init_once	[ext4]
`

// listed writes a table down, a line a function.
func listed(t *Table) string {
	var b strings.Builder
	for i := range t.Functions {
		f := &t.Functions[i]
		fmt.Fprintf(&b, "%x %s %s", f.Address, f.Module, f.Name)
		if len(f.Aliases) > 0 {
			fmt.Fprintf(&b, " = %s", strings.Join(f.Aliases, " "))
		}
		if f.Copies > 1 {
			fmt.Fprintf(&b, ", %d copies", f.Copies)
		}
		if f.Uncertain {
			b.WriteString(", uncertain")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// TestTable checks which functions are found where, with addresses of ftrace and without.
func TestTable(t *testing.T) {
	for name, c := range map[string]struct {
		available string
		addresses bool
		want      string
	}{
		"addresses": {`ffffffff81000100 vfs_read
ffffffff81000204 __x64_sys_getppid
ffffffff81000304 init_once
ffffffff81000504 init_once
ffffffff81000604 vfs_write.isra.0
ffffffff81000680 __ftrace_invalid_address___128
ffffffff81000690 nobody_near
ffffffffc0001004 ext4_file_write_iter [ext4]
ffffffffc0002004 init_once [ext4]
nonsense
`, true, `ffffffff81000100 vmlinux vfs_read
ffffffff81000200 vmlinux __x64_sys_getppid = __do_sys_getppid
ffffffff81000300 vmlinux init_once, 2 copies
ffffffff81000500 vmlinux init_once, 2 copies
ffffffff81000600 vmlinux vfs_write.isra.0
ffffffffc0001000 ext4 ext4_file_write_iter
ffffffffc0002000 ext4 init_once
`},
		"names": {`vfs_read
__do_sys_getppid
__ftrace_invalid_address___128
init_once
init_once
gone
ext4_file_write_iter [ext4]
init_once [ext4]
`, false, `ffffffff81000100 vmlinux vfs_read
ffffffff81000200 vmlinux __do_sys_getppid = __x64_sys_getppid
ffffffff81000300 vmlinux init_once, 3 copies, uncertain
ffffffff81000400 vmlinux init_once, 3 copies, uncertain
ffffffff81000500 vmlinux init_once, 3 copies, uncertain
ffffffffc0001000 ext4 ext4_file_write_iter
ffffffffc0002000 ext4 init_once
`},
	} {
		t.Run(name, func(t *testing.T) {
			table, err := New(strings.NewReader(c.available), strings.NewReader(kallsyms), c.addresses)
			if err != nil {
				t.Fatal(err)
			}
			if got := listed(table); got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
		})
	}
}

// TestHidden checks that addresses which the kernel hides are an error of their own.
func TestHidden(t *testing.T) {
	_, err := New(strings.NewReader("vfs_read\n"), strings.NewReader("0000000000000000 T vfs_read\n"), false)
	if !errors.Is(err, ErrHidden) {
		t.Errorf("error %v, want %v", err, ErrHidden)
	}
}

// large writes the lists of a kernel as large as Debian's.
func large() (available, symbols []byte) {
	const functions = 45_000
	var list, syms bytes.Buffer
	address := uint64(0xffffffff81000000)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 5 * functions {
		address += 16 + 16*uint64(random.IntN(20))
		name := fmt.Sprintf("some_function_of_a_kernel_%d", i)
		fmt.Fprintf(&syms, "%016x %c %s\n", address, "tTdDr"[i%5], name)
		if i%5 == 0 {
			fmt.Fprintf(&list, "%016x %s\n", address+4, name)
		}
	}
	return list.Bytes(), syms.Bytes()
}

// TestTableIsSmall checks that the table of a whole kernel stays small while it is made, and is made
// fast. The limit of time is for a loaded machine: BenchmarkTable says what it takes.
func TestTableIsSmall(t *testing.T) {
	available, symbols := large()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var table *Table
	var err error
	took := turns.Spent(func() { table, err = New(bytes.NewReader(available), bytes.NewReader(symbols), true) })
	runtime.ReadMemStats(&after)
	if err != nil || len(table.Functions) != 45_000 {
		t.Fatalf("%d functions, %v", len(table.Functions), err)
	}
	runtime.GC()
	var kept runtime.MemStats
	runtime.ReadMemStats(&kept)
	if mb := float64(int64(kept.HeapAlloc)-int64(before.HeapAlloc)) / 1e6; mb > 15 {
		t.Errorf("the table takes %.1f MB", mb)
	}
	if mb := float64(after.TotalAlloc-before.TotalAlloc) / 1e6; mb > 60 {
		t.Errorf("making it allocates %.1f MB", mb)
	}
	if took > 10*time.Second {
		t.Errorf("making it takes %v", took)
	}
	runtime.KeepAlive(table)
}

func BenchmarkTable(b *testing.B) {
	available, symbols := large()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := New(bytes.NewReader(available), bytes.NewReader(symbols), true); err != nil {
			b.Fatal(err)
		}
	}
}

// FuzzTable checks that no lists are too strange, and that each function has a name and an address.
func FuzzTable(f *testing.F) {
	f.Add([]byte("ffffffff81000100 vfs_read\n"), []byte(kallsyms), true)
	f.Add([]byte("vfs_read\ninit_once [ext4]\n"), []byte(kallsyms), false)
	f.Fuzz(func(t *testing.T, available, symbols []byte, addresses bool) {
		table, err := New(bytes.NewReader(available), bytes.NewReader(symbols), addresses)
		if err != nil {
			return
		}
		last := uint64(0)
		for i := range table.Functions {
			fn := &table.Functions[i]
			if fn.Name == "" || fn.Module == "" || fn.Address <= last || fn.Copies < 1 {
				t.Errorf("%+v behind %x", fn, last)
			}
			last = fn.Address
		}
	})
}
