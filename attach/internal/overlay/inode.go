package overlay

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/kernel"
)

// Inode is the inode on which the kernel places uprobes of a file on an overlay.
// The number, which is the overlay's as well, goes with the address, since
// another inode may get the address if nothing is attached to this one.
type Inode struct{ Address, Number uint64 }

// Inodes asks the kernel for the inode on which it would place uprobes of a
// file: for a file on an overlay, the inode of the layer below, which other
// containers of the same image share. Neither /proc/PID/maps nor stat shows it.
// The zero value is ready to use.
type Inodes struct {
	prog *ebpf.Program
	err  error // why there is no program
}

// File is an open file.
type File interface {
	Name() string
	Fd() uintptr
	On(fsType int64) bool // statfs(2), f_type
}

// Holds reports whether the file is on an overlay.
func Holds(f File) bool {
	return f.On(unix.OVERLAYFS_SUPER_MAGIC)
}

// Of returns the inode of the file, which stat gives that number. No other inode
// has its address while this one is in use, such as by a uprobe. Of maps a page
// of the file while it asks.
func (x *Inodes) Of(f File, number uint64) (Inode, error) {
	address, err := x.address(f)
	return Inode{address, number}, err
}

func (x *Inodes) address(f File) (uint64, error) {
	if x.prog == nil && x.err == nil {
		x.prog, x.err = newInodeProgram()
	}
	if x.err != nil {
		return 0, x.err
	}
	page, err := unix.Mmap(int(f.Fd()), 0, 1, unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		return 0, fmt.Errorf("map %s: %w", f.Name(), err)
	}
	defer unix.Munmap(page)
	// The kernel does not wait for the lock of the memory map, which another
	// thread may have.
	for range 100 {
		var inode uint64
		for _, shift := range []uint64{32, 0} {
			half, err := x.prog.Run(&ebpf.RunOptions{Context: inodeContext{uint64(uintptr(unsafe.Pointer(&page[0]))), shift}})
			if err != nil {
				return 0, fmt.Errorf("read the inode of %s: %w", f.Name(), err)
			}
			inode = inode<<32 | uint64(half)
		}
		if inode>>32 != 0 && uint32(inode) != 0 {
			return inode, nil
		}
		runtime.Gosched()
	}
	return 0, fmt.Errorf("the kernel does not report the inode of %s", f.Name())
}

// Close frees the program. Inodes can be used again.
func (x *Inodes) Close() {
	if x.prog != nil {
		x.prog.Close()
	}
	*x = Inodes{}
}

// inodeContext are the arguments of the program: an address in this process, and
// by how many bits to shift the result, of which 32 are returned.
type inodeContext struct{ Address, Shift uint64 }

// newInodeProgram loads a program that returns vma->vm_file->f_inode of the
// current task's memory at an address.
func newInodeProgram() (*ebpf.Program, error) {
	types, err := kernel.Types()
	if err != nil {
		return nil, err
	}
	file, err := kernel.MemberOffset(types, "vm_area_struct", "vm_file")
	if err != nil {
		return nil, err
	}
	inode, err := kernel.MemberOffset(types, "file", "f_inode")
	if err != nil {
		return nil, err
	}
	const found = "found"
	read := func(base asm.Register, offset int32) asm.Instructions { // into the stack's last slot
		return asm.Instructions{
			asm.Mov.Reg(asm.R3, base),
			asm.Add.Imm(asm.R3, offset),
			asm.Mov.Reg(asm.R1, asm.RFP),
			asm.Add.Imm(asm.R1, -8),
			asm.Mov.Imm(asm.R2, 8),
			asm.FnProbeReadKernel.Call(),
		}
	}
	long := &btf.Int{Name: "long", Size: 8, Encoding: btf.Signed}
	pointer := &btf.Pointer{Target: &btf.Void{}}
	callback := &btf.Func{Name: found, Linkage: btf.StaticFunc, Type: &btf.FuncProto{Return: long, Params: []btf.FuncParam{
		{Name: "task", Type: pointer}, {Name: "vma", Type: pointer}, {Name: "result", Type: pointer},
	}}}
	main := &btf.Func{Name: "inode", Linkage: btf.GlobalFunc, Type: &btf.FuncProto{Return: &btf.Int{Name: "int", Size: 4, Encoding: btf.Signed}, Params: []btf.FuncParam{
		{Name: "ctx", Type: pointer},
	}}}
	callbackAddress := asm.LoadImm(asm.R3, -1, asm.DWord).WithReference(found)
	callbackAddress.Src = asm.PseudoFunc
	code := asm.Instructions{
		btf.WithFuncMetadata(asm.Mov.Reg(asm.R6, asm.R1), main).WithSymbol(main.Name),
		asm.Mov.Imm(asm.R1, 0),
		asm.StoreMem(asm.RFP, -8, asm.R1, asm.DWord),
		asm.FnGetCurrentTaskBtf.Call(),
		asm.Mov.Reg(asm.R1, asm.R0),
		asm.LoadMem(asm.R2, asm.R6, 0, asm.DWord),
		callbackAddress,
		asm.Mov.Reg(asm.R4, asm.RFP),
		asm.Add.Imm(asm.R4, -8),
		asm.Mov.Imm(asm.R5, 0),
		asm.FnFindVma.Call(),
		asm.LoadMem(asm.R0, asm.RFP, -8, asm.DWord),
		asm.LoadMem(asm.R1, asm.R6, 8, asm.DWord),
		asm.RSh.Reg(asm.R0, asm.R1),
		asm.Return(),
		btf.WithFuncMetadata(asm.Mov.Reg(asm.R6, asm.R3), callback).WithSymbol(found),
		asm.Mov.Imm(asm.R1, 0),
		asm.StoreMem(asm.RFP, -8, asm.R1, asm.DWord),
	}
	code = append(code, read(asm.R2, int32(file))...)
	code = append(code, asm.LoadMem(asm.R2, asm.RFP, -8, asm.DWord))
	code = append(code, read(asm.R2, int32(inode))...)
	code = append(code,
		asm.LoadMem(asm.R1, asm.RFP, -8, asm.DWord),
		asm.StoreMem(asm.R6, 0, asm.R1, asm.DWord),
		asm.Mov.Imm(asm.R0, 0),
		asm.Return(),
	)
	return ebpf.NewProgram(&ebpf.ProgramSpec{Name: "usdt_inode", Type: ebpf.RawTracepoint, Instructions: code, License: kernel.License})
}
