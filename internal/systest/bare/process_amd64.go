package bare

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os/exec"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// State is what code can change: registers and memory, and how it ended.
type State struct {
	Regs   unix.PtraceRegs
	Vector []byte // the processor's extended state, as XSAVE writes it, or FXSAVE on old ones
	Data   []byte // the memory at DataAt
	Signal unix.Signal
	Code   int32  // of the signal
	Fault  uint64 // the address that was accessed, of some signals
}

// Process is a running program. Its methods are for the goroutine that called Start.
type Process struct {
	PID    int
	Vector []byte // the extended state with which it began

	cmd   *exec.Cmd
	last  State
	state uintptr // the register set that is the extended state
}

// Start starts a program that [Program] has made, on one processor. It ties the calling
// goroutine to its thread until Close.
func Start(path string) (*Process, error) {
	runtime.LockOSThread()
	cmd := exec.Command(path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		runtime.UnlockOSThread()
		return nil, err
	}
	p := &Process{PID: cmd.Process.Pid, cmd: cmd}
	if _, err := p.wait(); err != nil { // the stop at execve
		return nil, err
	}
	if err := unix.PtraceSetOptions(p.PID, unix.PTRACE_O_EXITKILL); err != nil {
		return nil, fmt.Errorf("ptrace: %w", err)
	}
	var cpu unix.CPUSet
	if err := unix.SchedGetaffinity(0, &cpu); err != nil {
		return nil, err
	}
	for i := range 1024 {
		if cpu.IsSet(i) {
			cpu.Zero()
			cpu.Set(i)
			break
		}
	}
	if err := unix.SchedSetaffinity(p.PID, &cpu); err != nil {
		return nil, err
	}
	var err error
	if err = unix.PtraceGetRegs(p.PID, &p.last.Regs); err != nil {
		return nil, err
	}
	const fxsave, xsave = 2, 0x202 // NT_PRFPREG, NT_X86_XSTATE
	for _, p.state = range []uintptr{xsave, fxsave} {
		if p.Vector, err = p.vector(make([]byte, 16<<10)); err != unix.ENODEV {
			break
		}
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// Close ends the process.
func (p *Process) Close() {
	_ = p.cmd.Process.Kill()
	_, _ = p.wait()
	_ = p.cmd.Process.Release()
	runtime.UnlockOSThread()
}

// Registers returns general registers as the kernel left them, for Run to begin with.
func (p *Process) Registers() unix.PtraceRegs { return p.last.Regs }

// Run executes the code that begin.Regs points to, until it ends with a signal, which the
// process does not get. It writes what has become of the state to end.
func (p *Process) Run(begin, end *State) error {
	if !bytes.Equal(p.last.Data, begin.Data) {
		if _, err := p.memory(unix.SYS_PROCESS_VM_WRITEV, begin.Data); err != nil {
			return fmt.Errorf("write memory: %w", err)
		}
	}
	if !bytes.Equal(p.last.Vector, begin.Vector) {
		if err := p.regset(unix.PTRACE_SETREGSET, &begin.Vector); err != nil {
			return fmt.Errorf("set extended state: %w", err)
		}
	}
	if err := unix.PtraceSetRegs(p.PID, &begin.Regs); err != nil {
		return fmt.Errorf("set registers: %w", err)
	}
	if err := unix.PtraceCont(p.PID, 0); err != nil {
		return err
	}
	status, err := p.wait()
	if err != nil {
		return err
	}
	if !status.Stopped() {
		return fmt.Errorf("the process has ended: %v", status)
	}
	end.Signal, end.Code, end.Fault = status.StopSignal(), 0, 0
	if end.Signal != unix.SIGTRAP {
		var info [128]byte
		if _, _, e := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_GETSIGINFO, uintptr(p.PID), 0, uintptr(unsafe.Pointer(&info)), 0, 0); e != 0 {
			return fmt.Errorf("read signal: %w", e)
		}
		end.Code, end.Fault = int32(binary.LittleEndian.Uint32(info[8:])), binary.LittleEndian.Uint64(info[16:])
	}
	if err := unix.PtraceGetRegs(p.PID, &end.Regs); err != nil {
		return fmt.Errorf("read registers: %w", err)
	}
	if end.Vector, err = p.vector(end.Vector); err != nil {
		return err
	}
	if end.Data == nil {
		end.Data = make([]byte, DataSize)
	}
	if _, err := p.memory(unix.SYS_PROCESS_VM_READV, end.Data); err != nil {
		return fmt.Errorf("read memory: %w", err)
	}
	p.last.Data, p.last.Vector = append(p.last.Data[:0], end.Data...), append(p.last.Vector[:0], end.Vector...)
	return nil
}

func (p *Process) wait() (unix.WaitStatus, error) {
	var status unix.WaitStatus
	for {
		if _, err := unix.Wait4(p.PID, &status, 0, nil); err != unix.EINTR {
			return status, err
		}
	}
}

func (p *Process) vector(buf []byte) ([]byte, error) {
	buf = buf[:cap(buf)]
	if len(buf) == 0 {
		buf = make([]byte, len(p.Vector))
	}
	return buf, p.regset(unix.PTRACE_GETREGSET, &buf)
}

// regset reads or writes the extended state.
func (p *Process) regset(request int, buf *[]byte) error {
	iov := unix.Iovec{Base: &(*buf)[0]}
	iov.SetLen(len(*buf))
	if _, _, e := unix.Syscall6(unix.SYS_PTRACE, uintptr(request), uintptr(p.PID), p.state, uintptr(unsafe.Pointer(&iov)), 0, 0); e != 0 {
		return e
	}
	*buf = (*buf)[:iov.Len]
	return nil
}

func (p *Process) memory(call uintptr, buf []byte) (uintptr, error) {
	local := unix.Iovec{Base: &buf[0]}
	local.SetLen(len(buf))
	remote := unix.RemoteIovec{Base: DataAt, Len: len(buf)}
	n, _, e := unix.Syscall6(call, uintptr(p.PID), uintptr(unsafe.Pointer(&local)), 1, uintptr(unsafe.Pointer(&remote)), 1, 0)
	if e != 0 {
		return n, e
	}
	return n, nil
}
