package bare

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Variants is how many states there are for pieces to begin with.
const Variants = 16

// idle is the current piece while the driver waits.
const idle = ^uint64(0)

// patience is how long one piece may take, on an emulated machine beside others: in time of the
// processor, or, if it waits, in time that passes while the piece is looked at looks times.
const (
	patience = 20 * time.Second
	looks    = 6
)

// Results that are no signal: what pieces do to the process.
const (
	Ended   = 1000 // it has ended
	Endless = 1001 // it runs on
)

// shared is the memory that the driver shares, as corpus.c has it.
type shared struct {
	count, first, current, whole, codeSize, codeAt, vectorSize, maxPieces uint64

	begin [Variants]Registers
	end   struct {
		signal, code, fault uint64
		regs                Registers
	}
	_                 [2*4096 - 8*8 - (Variants+1)*8*len(Registers{}) - 3*8]byte
	vector, endVector [0x4000]byte
	data, endData     [DataSize]byte
}

// Registers are a machine's registers, in the order that [Machine] has.
type Registers [48]uint64

// Result is what has become of a piece.
type Result struct {
	Hash    uint64 // of registers, memory and signal
	Signal  uint32
	Variant uint32 // with which of the states it begins
}

// State is how a piece has ended.
type State struct {
	Regs        Registers
	Vector      []byte // the extended state, as signal handlers see it
	Data        []byte // the memory at DataAt
	Signal      unix.Signal
	Code, Fault uint64 // of signals other than SIGTRAP
}

// Process executes the pieces of a program.
type Process struct {
	Begin   *[Variants]Registers
	Vector  []byte // with which all pieces begin
	Data    []byte // likewise
	Results []Result

	driver, program string
	memory          []byte
	shared          *shared
	file            *os.File
	cmd             *exec.Cmd
	in, out         *os.File
}

// Start starts the driver with a program of n pieces. Its registers begin as the registers of the
// driver itself, and memory with zeroes.
func Start(driver, program string, n int) (*Process, error) {
	p := &Process{driver: driver, program: program}
	var err error
	if p.file, err = os.CreateTemp("", "bare"); err != nil {
		return nil, err
	}
	os.Remove(p.file.Name())
	head, each := int(unsafe.Sizeof(shared{})), int(unsafe.Sizeof(Result{}))
	if err := p.file.Truncate(int64(head + n*each)); err != nil {
		return nil, err
	}
	if p.memory, err = unix.Mmap(int(p.file.Fd()), 0, head+n*each, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return nil, fmt.Errorf("map memory: %w", err)
	}
	// The memory is long enough for both, and stays until Close.
	p.shared = (*shared)(unsafe.Pointer(&p.memory[0]))
	p.Results = unsafe.Slice((*Result)(unsafe.Pointer(&p.memory[head])), n)
	p.shared.maxPieces, p.shared.codeAt, p.shared.codeSize = uint64(n), header, codeSize(n)
	if err := errors.Join(p.start(), p.pass(0, 0)); err != nil {
		p.Close()
		return nil, err
	}
	p.Begin, p.Vector, p.Data = &p.shared.begin, p.shared.vector[:p.shared.vectorSize], p.shared.data[:]
	for i := range p.Begin {
		p.Begin[i] = p.Begin[0]
	}
	return p, nil
}

// start starts the driver, on one processor, and waits until it is ready.
func (p *Process) start() error {
	code, err := os.Open(p.program)
	if err != nil {
		return err
	}
	defer code.Close()
	p.cmd = exec.Command(p.driver)
	p.cmd.ExtraFiles = []*os.File{code, p.file}
	stdin, in, err := os.Pipe()
	if err != nil {
		return err
	}
	defer stdin.Close()
	out, stdout, err := os.Pipe()
	if err != nil {
		return err
	}
	defer stdout.Close()
	p.in, p.out, p.cmd.Stdin, p.cmd.Stdout = in, out, stdin, stdout
	if err := p.cmd.Start(); err != nil {
		p.cmd = nil
		return err
	}
	var cpu unix.CPUSet
	if err := unix.SchedGetaffinity(0, &cpu); err != nil {
		return err
	}
	for i := range 1024 {
		if cpu.IsSet(i) {
			cpu.Zero()
			cpu.Set(i)
			break
		}
	}
	if err := unix.SchedSetaffinity(p.cmd.Process.Pid, &cpu); err != nil {
		return err
	}
	_, err = p.out.Read(make([]byte, 1))
	return err
}

// end ends the driver.
func (p *Process) end() {
	if p.cmd != nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		p.in.Close()
		p.out.Close()
		p.cmd = nil
	}
}

// Close ends the process.
func (p *Process) Close() {
	p.end()
	p.file.Close()
	if p.memory != nil {
		_ = unix.Munmap(p.memory)
		p.memory, p.shared, p.Results, p.Begin, p.Vector, p.Data = nil, nil, nil, nil, nil, nil
	}
}

// Run executes all pieces, and writes what has become of them to Results.
func (p *Process) Run() error { return p.pass(0, uint64(len(p.Results))) }

// State executes piece i and returns its end, which only a Result says if the process has
// ended with it.
func (p *Process) State(i int) (State, error) {
	p.shared.whole = uint64(i) + 1
	defer func() { p.shared.whole = 0 }()
	err := p.pass(uint64(i), uint64(i)+1)
	e := &p.shared.end
	if s := p.Results[i].Signal; s >= Ended {
		return State{Signal: unix.Signal(s)}, err
	}
	return State{
		Regs: e.regs, Vector: append([]byte(nil), p.shared.endVector[:p.shared.vectorSize]...), Data: append([]byte(nil), p.shared.endData[:]...),
		Signal: unix.Signal(e.signal), Code: e.code, Fault: e.fault,
	}, err
}

// spent returns the processor time that the driver has had (/proc/PID/schedstat).
func (p *Process) spent() time.Duration {
	var ns int64
	if data, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", p.cmd.Process.Pid)); err == nil {
		fmt.Sscan(string(data), &ns)
	}
	return time.Duration(ns)
}

// pass executes pieces first to end. Where one ends the process, or runs on, another
// process goes on behind it.
func (p *Process) pass(first, end uint64) error {
	for {
		p.shared.first, p.shared.count = first, end
		if _, err := p.in.Write([]byte{0}); err != nil {
			return err
		}
		result := uint32(Ended)
		last, since, looked := idle-1, time.Duration(0), 0
		for {
			if err := p.out.SetReadDeadline(time.Now().Add(patience)); err != nil {
				return err
			}
			_, err := p.out.Read(make([]byte, 1))
			if err == nil {
				return nil
			}
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				break
			}
			spent := p.spent()
			if p.shared.current != last {
				last, since, looked = p.shared.current, spent, 0
				continue
			}
			if looked++; spent-since > patience/2 || looked == looks {
				result = Endless
				break
			}
		}
		at := p.shared.current - 1
		if result == Endless {
			at++
		}
		p.end()
		if at >= end {
			return fmt.Errorf("the driver of pieces %d to %d has ended", first, end)
		}
		p.Results[at].Hash, p.Results[at].Signal = uint64(result), result
		if err := p.start(); err != nil {
			return err
		}
		if first = at + 1; first == end {
			return nil
		}
	}
}
