package link

import (
	"fmt"

	"github.com/cilium/ebpf"
)

// When is when a program runs that is attached to functions of the kernel.
type When int

const (
	AtEntry  When = iota // fentry
	AtReturn             // fexit: it has the arguments as well
	AtBoth               // fsession
)

// whens has what the kernel calls each.
var whens = [...]struct {
	name         string
	single, many ebpf.AttachType // enum bpf_attach_type, include/uapi/linux/bpf.h
}{
	AtEntry:  {"fentry", ebpf.AttachTraceFEntry, 59}, // BPF_TRACE_FENTRY_MULTI
	AtReturn: {"fexit", ebpf.AttachTraceFExit, 60},   // BPF_TRACE_FEXIT_MULTI
	AtBoth:   {"fsession", 58, 61},                   // BPF_TRACE_FSESSION, BPF_TRACE_FSESSION_MULTI
}

func (w When) String() string {
	if w < 0 || int(w) >= len(whens) {
		return fmt.Sprintf("When(%d)", int(w))
	}
	return whens[w].name
}

// Single returns the attach type of programs for one function each.
func (w When) Single() ebpf.AttachType { return whens[w].single }

// Many returns the attach type of programs for links of many functions.
func (w When) Many() ebpf.AttachType { return whens[w].many }
