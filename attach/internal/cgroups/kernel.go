package cgroups

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"

	"github.com/go-usdt/usdt/internal/container"
	"github.com/go-usdt/usdt/internal/kernel"
)

// ofV1 is set in ids of groups of version 1: each hierarchy counts its own. The generation in the
// upper half of an id does not reach it (fs/kernfs/dir.c, __kernfs_new_node).
const ofV1 = 1 << 63

// layout says where the kernel has the control group of a task.
type layout struct {
	cgroups, unified, css, group, node int32 // task_struct, css_set, css_set, cgroup_subsys_state, cgroup
	id, name, parent                   int32 // kernfs_node
	v1                                 bool  // a hierarchy of version 1 also counts
}

// controllers lead to the hierarchy of version 1 that counts, the first that is used: runtimes make
// groups in all. The second name is that of enum cgroup_subsys_id.
var controllers = []struct{ name, kernel string }{
	{"pids", "pids"}, {"memory", "memory"}, {"devices", "devices"}, {"freezer", "freezer"}, {"cpu", "cpu"}, {"blkio", "io"},
}

// controller returns the controller of version 1 that counts, an index of controllers; -1 if none
// is used. /proc/self/cgroup has the hierarchies that there are, mounted here or not.
func controller() int {
	lines, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return -1
	}
	used := map[string]bool{}
	for s := bufio.NewScanner(bytes.NewReader(lines)); s.Scan(); { // HIERARCHY:CONTROLLER,...:PATH
		if words := strings.SplitN(s.Text(), ":", 3); len(words) == 3 && words[0] != "0" {
			for name := range strings.SplitSeq(words[1], ",") {
				used[name] = true
			}
		}
	}
	return slices.IndexFunc(controllers, func(c struct{ name, kernel string }) bool { return used[c.name] })
}

// newLayout reads the kernel's types.
func newLayout(v1 int) (*layout, error) {
	types, err := kernel.Types()
	if err != nil {
		return nil, fmt.Errorf("read the kernel's types, to name control groups: %w", err)
	}
	l := &layout{v1: v1 >= 0}
	for _, m := range []struct {
		to                *int32
		structure, member string
	}{
		{&l.cgroups, "task_struct", "cgroups"}, {&l.unified, "css_set", "dfl_cgrp"}, {&l.css, "css_set", "subsys"},
		{&l.group, "cgroup_subsys_state", "cgroup"}, {&l.node, "cgroup", "kn"},
		{&l.id, "kernfs_node", "id"}, {&l.name, "kernfs_node", "name"}, {&l.parent, "kernfs_node", "parent"},
	} {
		offset, err := kernel.MemberOffset(types, m.structure, m.member)
		if err != nil && m.member == "parent" {
			offset, err = kernel.MemberOffset(types, m.structure, "__parent") // from Linux 6.15 on
		}
		if err != nil {
			return nil, err
		}
		if offset > math.MaxInt16 { // how far an instruction reads
			return nil, fmt.Errorf("the kernel has %s.%s at %d, too far to name control groups", m.structure, m.member, offset)
		}
		*m.to = int32(offset)
	}
	if !l.v1 {
		return l, nil
	}
	var ids *btf.Enum
	if err := types.TypeByName("cgroup_subsys_id", &ids); err != nil {
		return nil, err
	}
	for _, v := range ids.Values {
		if v.Name == controllers[v1].kernel+"_cgrp_id" {
			l.css += 8 * int32(v.Value)
			return l, nil
		}
	}
	return nil, fmt.Errorf("the kernel's enum cgroup_subsys_id has no %s", controllers[v1].kernel)
}

// rootID is the id of the root in each hierarchy.
const rootID = container.RootInode

// follow reads the word at an offset from where the word at slot leads, into slot.
func follow(slot int16, offset int32) asm.Instructions {
	return append(asm.Instructions{asm.LoadMem(asm.R3, asm.R10, slot, asm.DWord)}, read(slot, offset)...)
}

// read reads the word at R3 + offset into slot. A word that cannot be read is 0.
func read(slot int16, offset int32) asm.Instructions {
	return asm.Instructions{
		asm.Add.Imm(asm.R3, offset),
		asm.Mov.Reg(asm.R1, asm.R10), asm.Add.Imm(asm.R1, int32(slot)),
		asm.Mov.Imm(asm.R2, 8),
		asm.FnProbeReadKernel.Call(),
	}
}

// nodeOf puts the address of the node of the current task's group into slot.
func (l *layout) nodeOf(slot int16, v1 bool) asm.Instructions {
	code := asm.Instructions{
		asm.Mov.Imm(asm.R1, 0), asm.StoreMem(asm.R10, slot, asm.R1, asm.DWord),
		asm.FnGetCurrentTask.Call(), asm.Mov.Reg(asm.R3, asm.R0),
	}
	code = append(code, read(slot, l.cgroups)...)
	if v1 {
		code = append(code, follow(slot, l.css)...)
		code = append(code, follow(slot, l.group)...)
	} else {
		code = append(code, follow(slot, l.unified)...)
	}
	return append(code, follow(slot, l.node)...)
}

// load puts the id of the current task's group into dst. It changes R0 to R5 and slot. A task that
// no group of version 2 has counts by version 1, where that is used.
func (l *layout) load(dst asm.Register, slot int16) asm.Instructions {
	code := asm.Instructions{asm.FnGetCurrentCgroupId.Call(), asm.Mov.Reg(dst, asm.R0)}
	if !l.v1 {
		return code
	}
	v1 := asm.Instructions{asm.FnGetCurrentTaskBtf.Call()} // whose words the program itself may read
	for _, offset := range []int32{l.cgroups, l.css, l.group, l.node, l.id} {
		v1 = append(v1, asm.LoadMem(asm.R0, asm.R0, int16(offset), asm.DWord))
	}
	v1 = append(v1,
		asm.Mov.Reg(dst, asm.R0),
		asm.Mov.Imm(asm.R0, 1), asm.LSh.Imm(asm.R0, 63),
		asm.Or.Reg(dst, asm.R0),
	)
	code = append(code, kernel.Over(asm.JNE.Imm(dst, rootID, ""), int16(len(v1))))
	return append(code, v1...)
}

// Programs keep an entry of a group: how many names it has, and these, from the group up to the root.
const (
	nameSize  = 128
	maxLevels = 12
	entrySize = 8 + maxLevels*nameSize
)

// note has a program keep the path of the current task's group, when it is the first to see it. It
// changes R0 to R5, R7 to R9 and three words of the stack from slot on down; done is a label of the
// caller's for what comes behind. Seen is a map of entries by ids, and blank one of a counter and an
// entry.
func (l *layout) note(slot int16, seen, blank int, done string) asm.Instructions {
	id, word := slot, slot-8
	lookup := asm.Instructions{
		asm.LoadMapPtr(asm.R1, seen),
		asm.Mov.Reg(asm.R2, asm.R10), asm.Add.Imm(asm.R2, int32(id)),
		asm.FnMapLookupElem.Call(),
	}
	code := append(l.load(asm.R7, word), asm.StoreMem(asm.R10, id, asm.R7, asm.DWord))
	code = append(code, lookup...)
	code = append(code,
		asm.JNE.Imm(asm.R0, 0, done),
		asm.LoadMapPtr(asm.R1, seen),
		asm.Mov.Reg(asm.R2, asm.R10), asm.Add.Imm(asm.R2, int32(id)),
		asm.LoadMapValue(asm.R3, blank, 8),
		asm.Mov.Imm(asm.R4, 1), // BPF_NOEXIST
		asm.FnMapUpdateElem.Call(),
		asm.JNE.Imm(asm.R0, 0, done), // another CPU was first, or the map is full
	)
	code = append(code, lookup...)
	code = append(code, asm.JEq.Imm(asm.R0, 0, done), asm.Mov.Reg(asm.R8, asm.R0))
	unified := l.nodeOf(word, false)
	if l.v1 {
		first := l.nodeOf(word, true)
		code = append(code, kernel.Over(asm.JSLT.Imm(asm.R7, 0, ""), int16(len(unified)+1)))
		code = append(code, unified...)
		code = append(code, kernel.Over(asm.Ja.Label(""), int16(len(first))))
		code = append(code, first...)
	} else {
		code = append(code, unified...)
	}
	code = append(code, asm.LoadMem(asm.R7, asm.R10, word, asm.DWord))
	var levels []asm.Instructions
	for level := range int32(maxLevels) {
		one := asm.Instructions{asm.Mov.Reg(asm.R3, asm.R7)}
		one = append(one, read(word, l.name)...)
		one = append(one,
			asm.LoadMem(asm.R3, asm.R10, word, asm.DWord),
			asm.Mov.Reg(asm.R1, asm.R8), asm.Add.Imm(asm.R1, 8+level*nameSize),
			asm.Mov.Imm(asm.R2, nameSize),
			asm.FnProbeReadKernelStr.Call(),
			asm.Mov.Imm(asm.R9, level+1),
			asm.Mov.Reg(asm.R3, asm.R7),
		)
		one = append(one, read(word, l.parent)...)
		one = append(one, asm.LoadMem(asm.R7, asm.R10, word, asm.DWord))
		levels = append(levels, one)
	}
	// Each level is followed by a jump behind the last one.
	for i, one := range levels {
		rest := 0
		for _, later := range levels[i+1:] {
			rest += len(later) + 1
		}
		code = append(code, one...)
		code = append(code, kernel.Over(asm.JEq.Imm(asm.R7, 0, ""), int16(rest)))
	}
	return append(code,
		asm.StoreMem(asm.R8, 0, asm.R9, asm.DWord), // the entry is whole
		asm.LoadMapValue(asm.R1, blank, 0),
		asm.Mov.Imm(asm.R2, 1),
		asm.AddAtomic.Mem(asm.R1, asm.R2, asm.DWord, 0),
	)
}
