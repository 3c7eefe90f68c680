//go:build linux && (amd64 || arm64)

package stub_test

import (
	"encoding/binary"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/stub"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/notes"
)

// mapCode returns the address of executable code.
func mapCode(t testing.TB, code []byte) uintptr {
	t.Helper()
	mem, err := unix.Mmap(-1, 0, len(code), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	copy(mem, code)
	if err := unix.Mprotect(mem, unix.PROT_READ|unix.PROT_EXEC); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(mem) })
	return uintptr(unsafe.Pointer(unsafe.SliceData(mem)))
}

// registers is the number of slots that Call loads into registers.
var registers = len(stub.RegisterArgs[8])

// reverse returns code that stores the argument registers into the block in reverse
// order: the last one into slot 0.
func reverse() []byte {
	if runtime.GOARCH == "amd64" {
		return []byte{
			0x4c, 0x89, 0x08, // mov %r9,(%rax)
			0x4c, 0x89, 0x40, 0x08, // mov %r8,8(%rax)
			0x48, 0x89, 0x48, 0x10, // mov %rcx,16(%rax)
			0x48, 0x89, 0x50, 0x18, // mov %rdx,24(%rax)
			0x48, 0x89, 0x70, 0x20, // mov %rsi,32(%rax)
			0x48, 0x89, 0x78, 0x28, // mov %rdi,40(%rax)
			0xc3, // ret
		}
	}
	var code []byte
	for i := range registers {
		// str x<7-i>,[x8,#8*i]
		code = binary.LittleEndian.AppendUint32(code, 0xf9000000|uint32(i)<<10|8<<5|uint32(registers-1-i))
	}
	return binary.LittleEndian.AppendUint32(code, 0xd65f03c0) // ret
}

// follow returns code that replaces slot 1 by the eight bytes at which slot 0
// points.
func follow() []byte {
	if runtime.GOARCH == "amd64" {
		return []byte{
			0x48, 0x8b, 0x3f, // mov (%rdi),%rdi
			0x48, 0x89, 0x78, 0x08, // mov %rdi,8(%rax)
			0xc3, // ret
		}
	}
	var code []byte
	for _, insn := range []uint32{
		0xf9400000, // ldr x0,[x0]
		0xf9000500, // str x0,[x8,#8]
		0xd65f03c0, // ret
	} {
		code = binary.LittleEndian.AppendUint32(code, insn)
	}
	return code
}

func TestRegisters(t *testing.T) {
	site := mapCode(t, reverse())
	var b stub.Block
	for i := range b.Slot {
		b.Slot[i] = 0x1111111111111111 * uint64(i+1)
	}
	stub.Call(&site, &b, 0)
	for i := range registers {
		if want := 0x1111111111111111 * uint64(registers-i); b.Slot[i] != want {
			t.Errorf("register %d held %#x, want %#x", registers-1-i, b.Slot[i], want)
		}
	}
	for i := registers; i < stub.Slots; i++ {
		if want := 0x1111111111111111 * uint64(i+1); b.Slot[i] != want {
			t.Errorf("slot %d: got %#x, want %#x", i, b.Slot[i], want)
		}
	}
}

// TestAddresses checks addresses with each single bit, and with all of them.
func TestAddresses(t *testing.T) {
	site := mapCode(t, []byte{0xc3})
	if runtime.GOARCH == "arm64" {
		site = mapCode(t, []byte{0xc0, 0x03, 0x5f, 0xd6})
	}
	var x [stub.Slots]byte
	all := uint64(1)<<stub.Slots - 1
	for mask := range all + 1 {
		if mask != all && mask&(mask-1) != 0 {
			continue
		}
		var b stub.Block
		for i := range b.Slot {
			b.Slot[i], b.Ptr[i] = 7, unsafe.Pointer(&x[i])
		}
		stub.Call(&site, &b, mask)
		for i := range b.Slot {
			want := uint64(7)
			if mask&(1<<i) != 0 {
				want = uint64(uintptr(unsafe.Pointer(&x[i])))
			}
			if b.Slot[i] != want {
				t.Errorf("mask %#x, slot %d: got %#x, want %#x", mask, i, b.Slot[i], want)
			}
		}
	}
}

// TestGrowingStack calls from every depth of stacks that start small, so that the
// prologue of some call moves the stack, and checks that the code at the site can
// follow an address on the stack.
func TestGrowingStack(t *testing.T) {
	site := mapCode(t, follow())
	done := make(chan int)
	go func() { done <- descend(site, 4000) }()
	if wrong := <-done; wrong != 0 {
		t.Errorf("%d of 4000 calls read something else through an address on their stack", wrong)
	}
}

//go:noinline
func descend(site uintptr, depth int) int {
	if depth == 0 {
		return 0
	}
	var text [8]byte
	var b stub.Block
	want := 0x0102030405060708 * uint64(depth)
	binary.NativeEndian.PutUint64(text[:], want)
	b.Ptr[0] = hide(unsafe.Pointer(&text))
	stub.Call(&site, &b, 1)
	wrong := descend(site, depth-1)
	if b.Slot[1] != want {
		wrong++
	}
	return wrong
}

// hide keeps p, a pointer to the stack, from escaping; see provider's noescape.
//
//go:nosplit
//go:nocheckptr
//go:norace
func hide(p unsafe.Pointer) unsafe.Pointer {
	x := uintptr(p)
	return *(*unsafe.Pointer)(unsafe.Pointer(&x))
}

// goroutine returns code that stores the goroutine's register into slot 0.
func goroutine() []byte {
	if runtime.GOARCH == "amd64" {
		return []byte{
			0x4c, 0x89, 0x30, // mov %r14,(%rax)
			0xc3, // ret
		}
	}
	var code []byte
	for _, insn := range []uint32{
		0xf900011c, // str x28,[x8]
		0xd65f03c0, // ret
	} {
		code = binary.LittleEndian.AppendUint32(code, insn)
	}
	return code
}

// TestGoroutine checks that the goroutine's register distinguishes goroutines at the
// site, in whatever thread they run and however their stack has grown.
func TestGoroutine(t *testing.T) {
	site := mapCode(t, goroutine())
	const goroutines, depth = 8, 500
	seen := make(chan uintptr, goroutines)
	end := make(chan struct{})
	for range goroutines {
		go func() {
			seen <- sameGoroutine(site, depth, 0)
			<-end // no other goroutine gets its place before
		}()
	}
	all := map[uintptr]bool{}
	for range goroutines {
		g := <-seen
		if g == 0 || all[g] {
			t.Errorf("goroutine %#x, want one of its own, the same at %d depths", g, depth)
		}
		all[g] = true
	}
	close(end)
}

// sameGoroutine returns the value of the goroutine's register if it is g at all
// depths, and 0 otherwise. A g of 0 stands for any value.
//
//go:noinline
func sameGoroutine(site uintptr, depth int, g uintptr) uintptr {
	var b stub.Block
	if depth%2 == 0 {
		stub.Call(&site, &b, 0)
	} else {
		stub.CallAt(&site, unsafe.Pointer(&b), 0)
	}
	if got := uintptr(b.Slot[0]); got == 0 || g != 0 && got != g {
		return 0
	} else if depth == 0 {
		return got
	} else {
		g = got
	}
	runtime.Gosched()
	return sameGoroutine(site, depth-1, g)
}

func TestCode(t *testing.T) {
	for _, site := range []notes.SiteKind{notes.SiteNop, notes.SiteNop5, notes.SiteNop10} {
		c, ok := stub.CodeFor(site)
		if !ok {
			if site == notes.SiteNop || runtime.GOARCH == "amd64" {
				t.Errorf("no code for site %v", site)
			}
			continue
		}
		var b stub.Block
		site := mapCode(t, c.Bytes)
		stub.Call(&site, &b, 0) // it returns
		if uint64(len(c.Bytes)) > c.Stride || 4096%c.Stride != 0 {
			t.Errorf("site %v: %d bytes at a stride of %d cross pages", site, len(c.Bytes), c.Stride)
		}
	}
}

// TestNoSite checks that Call does nothing while there is no address.
func TestNoSite(t *testing.T) {
	var site uintptr
	var b stub.Block
	stub.Call(&site, &b, 0)
	stub.CallAt(&site, unsafe.Pointer(&b), 0)
}

// TestQuiesce checks that Quiesce waits for a goroutine that is in a stub. The stub
// spins until another process writes to a mapped file: this process may stand still
// meanwhile.
func TestQuiesce(t *testing.T) {
	const quiesceFile = "STUB_TEST_QUIESCE" // names the file in the environment
	write := tracee.Again(t)
	if write == nil {
		time.Sleep(300 * time.Millisecond)
		f, err := os.OpenFile(os.Getenv(quiesceFile), os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString("x"); err != nil {
			t.Fatal(err)
		}
		return
	}
	spin := []byte{
		0xc6, 0x06, 0x01, // movb $1,(%rsi)
		0x48, 0x83, 0x3f, 0x00, // 1: cmpq $0,(%rdi)
		0x74, 0xfa, // je 1b
		0xc3, // ret
	}
	if runtime.GOARCH == "arm64" {
		spin = nil
		for _, insn := range []uint32{
			0x52800029, // mov w9,#1
			0x39000029, // strb w9,[x1]
			0xf9400009, // 1: ldr x9,[x0]
			0xb4ffffe9, // cbz x9,1b
			0xd65f03c0, // ret
		} {
			spin = binary.LittleEndian.AppendUint32(spin, insn)
		}
	}
	site := mapCode(t, spin)
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(4096); err != nil {
		t.Fatal(err)
	}
	flag, err := unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(flag)

	// Another process goes on while this one's world is stopped.
	write.Env = append(write.Env, quiesceFile+"="+f.Name())
	if err := write.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := write.Wait(); err != nil {
			t.Error(err)
		}
	}()
	left := make(chan struct{})
	entered := new(uint32) // the stub sets a byte of it
	go func() {
		var b stub.Block
		b.Ptr[0], b.Ptr[1] = unsafe.Pointer(&flag[0]), unsafe.Pointer(entered)
		stub.Call(&site, &b, 3)
		close(left)
	}()
	for atomic.LoadUint32(entered) == 0 {
		runtime.Gosched()
	}
	stub.Quiesce()
	if flag[0] == 0 {
		t.Error("Quiesce returned while a goroutine was in a stub")
	}
	<-left
}

func BenchmarkCall(b *testing.B) {
	c, _ := stub.CodeFor(notes.SiteNop)
	site := mapCode(b, c.Bytes)
	var block stub.Block
	for range b.N {
		stub.Call(&site, &block, 0)
	}
}
