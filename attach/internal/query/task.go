package query

import (
	"slices"

	"github.com/go-usdt/usdt/internal/container"
	"github.com/go-usdt/usdt/reader"
)

// Sources that are known of the task that fires, in programs without reading memory.
const (
	InputThread Source = firstOfTask + iota // process and thread
	InputPID
	InputTID
	InputComm
	InputCPU // the number of the CPU
	InputUID // of the user, in the initial user namespace
	// InputGoCall is a call of a Go function: its goroutine and how deep it is on the
	// goroutine's stack, which moves.
	InputGoCall
	// InputFunction is the address of the function of the kernel that has called the trampoline.
	InputFunction
	// The id of the task's control group, of which Input.Group is a word.
	InputCgroup
	InputContainer
	InputPod

	firstOfTask = 64 // behind all others
)

// TaskKey is a name for what is known of the task that fires, beside the arguments of a probe.
type TaskKey struct {
	Name   string
	Source Source
	Kind   reader.FieldKind
	Size   uint8
	// A description of the value. If it is not empty, records hold the value only in a slot of
	// its own, and an argument of that name comes first.
	What string
	// Group says that the value is the id of a control group, of which this word is meant. All such
	// keys share a slot.
	Group container.Word
	// Unshared is what events through shared memory do not say; empty if they do.
	Unshared string
}

// TaskKeys are all of them. A number needs a line of taskNumbers in package codegen, and each
// one of TaskKeys in package grammar; tests hold both.
var TaskKeys = [...]TaskKey{
	{Name: "pid", Source: InputPID, Kind: reader.Uint, Size: 4},
	{Name: "tid", Source: InputTID, Kind: reader.Uint, Size: 4, Unshared: "in which thread they fired"},
	{Name: "comm", Source: InputComm, Kind: reader.String},
	{Name: "cpu", Source: InputCPU, Kind: reader.Uint, Size: 4, What: "the CPU", Unshared: "on which CPU they fired"},
	{Name: "uid", Source: InputUID, Kind: reader.Uint, Size: 4, What: "the user", Unshared: "as which user they fired"},
	{Name: "cgroup", Source: InputCgroup, Kind: reader.Uint, Size: 8, What: "the control group", Unshared: inGroup, Group: container.PathWord},
	{Name: "container", Source: InputContainer, Kind: reader.Uint, Size: 8, What: "the container", Unshared: inGroup, Group: container.ContainerWord},
	{Name: "pod", Source: InputPod, Kind: reader.Uint, Size: 8, What: "the pod", Unshared: inGroup, Group: container.PodWord},
}

const inGroup = "in which control group they fired"

// Groups names control groups by their ids.
type Groups interface {
	Text(id uint64, w container.Word) string
	// Same returns the id of a group that stands for all with the same word.
	Same(id uint64, w container.Word) uint64
}

// TaskKeyOf returns the index of a name in TaskKeys, -1 if it is none.
func TaskKeyOf(name string) int {
	return slices.IndexFunc(TaskKeys[:], func(k TaskKey) bool { return k.Name == name })
}

// CgroupKey is the key whose slot all keys share that are words of control groups.
const CgroupKey = "cgroup"

// TaskSlotOf returns the index of the key of TaskKeys whose slot a key of it has.
func TaskSlotOf(name string) int {
	i := TaskKeyOf(name)
	if TaskKeys[i].Group != 0 {
		i = TaskKeyOf(CgroupKey)
	}
	return i
}

// ofTask reports whether a source is a number that is known of the task.
func (s Source) ofTask() bool { return s >= firstOfTask && s != InputComm }
