package reader

import "slices"

// ProbeKind says what a probe site is.
type ProbeKind uint8

const (
	USDT       ProbeKind = iota // described by a note
	Uprobe                      // the entry, or another instruction, of a function
	Uretprobe                   // the return from a function
	Kprobe                      // the entry of a function of the kernel
	Kretprobe                   // the return from a function of the kernel
	Fentry                      // as Kprobe, by a trampoline
	Fexit                       // as Kretprobe, by a trampoline, which keeps the arguments
	Tracepoint                  // an event of the kernel
)

// probeKind is what is known of a kind of probes.
type probeKind struct {
	word     string // with which selectors begin
	inFile   bool   // functions of files, or places in them
	inKernel bool   // functions or events of the kernel
	// trampoline says that a trampoline calls programs there, and fields that there is a record with
	// fields: other sites have registers.
	trampoline, fields bool
	// entry is the kind of the entries of functions whose returns these are, USDT for kinds that are no
	// returns. The arguments are gone at returns that do not keep them.
	entry ProbeKind
	keeps bool
}

// probeKinds has a line for each kind.
var probeKinds = [...]probeKind{
	USDT:       {word: "usdt"},
	Uprobe:     {word: "uprobe", inFile: true},
	Uretprobe:  {word: "uretprobe", inFile: true, entry: Uprobe},
	Kprobe:     {word: "kprobe", inKernel: true},
	Kretprobe:  {word: "kretprobe", inKernel: true, entry: Kprobe},
	Fentry:     {word: "fentry", inKernel: true, trampoline: true},
	Fexit:      {word: "fexit", inKernel: true, trampoline: true, entry: Fentry, keeps: true},
	Tracepoint: {word: "tracepoint", inKernel: true, fields: true},
}

func (k ProbeKind) row() *probeKind { return &probeKinds[min(int(k), len(probeKinds)-1)] }

// String returns the word with which selectors of such probes begin; there is none for those of USDT.
func (k ProbeKind) String() string { return k.row().word }

// ParseProbeKind returns the kind that has a word, and whether there is one.
func ParseProbeKind(word string) (kind ProbeKind, ok bool) {
	i := slices.IndexFunc(probeKinds[:], func(r probeKind) bool { return r.word == word })
	return ProbeKind(max(i, 0)), i >= 0
}

// ProbeKinds returns all kinds.
func ProbeKinds() []ProbeKind {
	all := make([]ProbeKind, len(probeKinds))
	for i := range all {
		all[i] = ProbeKind(i)
	}
	return all
}

// InFile reports whether such probes are functions of files, or instructions or lines of them.
func (k ProbeKind) InFile() bool { return k.row().inFile }

// InKernel reports whether the site is in the kernel, and not in a file.
func (k ProbeKind) InKernel() bool { return k.row().inKernel }

// ByTrampoline reports whether such probes are functions of the kernel that it calls programs at by
// trampolines, and not by kprobes.
func (k ProbeKind) ByTrampoline() bool { return k.row().trampoline }

// HasFields reports whether such probes are events of the kernel, which have a record with fields, and no
// functions.
func (k ProbeKind) HasFields() bool { return k.row().fields }

// IsReturn reports whether such probes are returns from functions.
func (k ProbeKind) IsReturn() bool { return k.row().entry != USDT }

// Entry returns the kind of the entries of functions whose returns are of kind k, and k itself if it is no
// kind of returns.
func (k ProbeKind) Entry() ProbeKind {
	if k.IsReturn() {
		return k.row().entry
	}
	return k
}

// HasArguments reports whether arguments or fields can be read there: a return has lost them, unless a
// trampoline keeps them.
func (k ProbeKind) HasArguments() bool { return !k.IsReturn() || k.row().keeps }
