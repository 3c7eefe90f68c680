package main

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"log"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
)

// argument is struct argument of alone.bpf.c.
type argument struct {
	Value                    int64
	Kind, Reg, Shift, Signed int16
}

// registers are places in struct pt_regs, on x86-64 only.
var registers = map[string]int16{
	"r15": 0, "r14": 8, "r13": 16, "r12": 24, "rbp": 32, "rbx": 40, "r11": 48, "r10": 56,
	"r9": 64, "r8": 72, "rax": 80, "rcx": 88, "rdx": 96, "rsi": 104, "rdi": 112, "rip": 128, "rsp": 152,
}

var (
	parts    = regexp.MustCompile(`^(-?)([1248])@(.*)$`)
	memory   = regexp.MustCompile(`^(-?\d*)\(%(\w+)\)$`)
	numbered = regexp.MustCompile(`^r(\d+)[dwb]$`)
)

// register knows the names of a register's parts.
func register(name string) (int16, error) {
	if m := numbered.FindStringSubmatch(name); m != nil {
		name = "r" + m[1]
	} else if place, ok := registers["r"+strings.TrimSuffix(strings.TrimPrefix(name, "e"), "l")]; ok {
		return place, nil // eax, ax, sil
	} else if len(name) == 2 && name[1] == 'l' {
		name = "r" + name[:1] + "x"
	}
	place, ok := registers[name]
	if !ok {
		return 0, fmt.Errorf("unknown register %q", name)
	}
	return place, nil
}

func parse(text string) (a argument, err error) {
	p := parts.FindStringSubmatch(text)
	if p == nil {
		return a, fmt.Errorf("unknown argument %q", text)
	}
	size, _ := strconv.Atoi(p[2])
	a.Shift = int16(64 - 8*size)
	if p[1] != "" {
		a.Signed = 1
	}
	switch m := memory.FindStringSubmatch(p[3]); {
	case strings.HasPrefix(p[3], "$"):
		a.Value, err = strconv.ParseInt(p[3][1:], 0, 64)
	case strings.HasPrefix(p[3], "%"):
		a.Kind = 1
		a.Reg, err = register(p[3][1:])
	case m != nil:
		a.Kind = 2
		a.Value, _ = strconv.ParseInt(m[1], 0, 64)
		a.Reg, err = register(m[2])
	default:
		err = fmt.Errorf("unknown argument %q", text)
	}
	return a, err
}

type site struct {
	offset, semaphore uint64
	arguments         []argument
}

// sites reads the notes of a probe.
func sites(f *elf.File, provider, name string) (found []site, err error) {
	section, base := f.Section(".note.stapsdt"), f.Section(".stapsdt.base")
	if section == nil {
		return nil, fmt.Errorf("no probes")
	}
	notes, err := section.Data()
	if err != nil {
		return nil, err
	}
	offset := func(address uint64) uint64 {
		for _, p := range f.Progs {
			if p.Type == elf.PT_LOAD && address >= p.Vaddr && address < p.Vaddr+p.Memsz {
				return address - p.Vaddr + p.Off
			}
		}
		return 0
	}
	align := func(n uint32) int { return int(n+3) &^ 3 }
	for len(notes) >= 12 {
		owner, size := binary.LittleEndian.Uint32(notes), binary.LittleEndian.Uint32(notes[4:])
		kind, rest := binary.LittleEndian.Uint32(notes[8:]), notes[12:]
		if align(owner)+align(size) > len(rest) {
			return nil, fmt.Errorf("a note is cut off")
		}
		body := rest[align(owner):][:size]
		notes = rest[align(owner)+align(size):]
		words := bytes.SplitN(body[min(24, len(body)):], []byte{0}, 4)
		if kind != 3 || len(words) < 3 || string(words[0]) != provider || string(words[1]) != name {
			continue
		}
		location, semaphore := binary.LittleEndian.Uint64(body), binary.LittleEndian.Uint64(body[16:])
		if base != nil { // the file was prelinked
			moved := base.Addr - binary.LittleEndian.Uint64(body[8:])
			if location += moved; semaphore != 0 {
				semaphore += moved
			}
		}
		s := site{offset: offset(location), semaphore: offset(semaphore)}
		for _, text := range strings.Fields(string(words[2])) {
			a, err := parse(text)
			if err != nil {
				return nil, err
			}
			s.arguments = append(s.arguments, a)
		}
		found = append(found, s)
	}
	return found, nil
}

func main() {
	pid, _ := strconv.Atoi(os.Args[1])
	f, err := elf.Open(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	found, err := sites(f, "shop", "order")
	if err != nil {
		log.Fatal(err)
	}
	c, err := ebpf.LoadCollection(os.Args[3])
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	exe, err := link.OpenExecutable(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	for i, s := range found {
		if err := c.Maps["sites"].Put(uint32(i), s.arguments); err != nil {
			log.Fatal(err)
		}
		l, err := exe.Uprobe("shop:order", c.Programs["order"], &link.UprobeOptions{
			Address: s.offset, RefCtrOffset: s.semaphore, PID: pid, Cookie: uint64(i),
		})
		if err != nil {
			log.Fatal(err)
		}
		defer l.Close()
	}
	fmt.Println("ready")
	fmt.Scanln()
	var sum int64
	if err := c.Variables["sum"].Get(&sum); err != nil {
		log.Fatal(err)
	}
	fmt.Println(sum)
}
