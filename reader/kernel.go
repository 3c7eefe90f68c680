package reader

// KernelFunction describes the arguments of a function of the kernel, at its entry, or its result, or the
// fields of a tracepoint.
type KernelFunction struct {
	// Declaration is the function as C declares it, empty if its types are not known.
	Declaration string
	// Params are the arguments at the entry, or retval at the return; at Fexit both.
	Params []KernelParam
	// Fields are those of a Tracepoint's record, and nothing else is. A value is at Offset; with Memory, the
	// elements or the text are there. With Follow, a word at Offset says by its lower half where they are,
	// FollowOffset bytes further in the record, and by its upper half how many bytes.
	Fields []Variable
	// Gone are the arguments that the return no longer has.
	Gone []string
	// Err says why nothing is known of its arguments, nil if they are known.
	Err error
	// Type is the function's name in BTF, and TypeID the number of its type there; 0 if BTF does
	// not have it.
	Type   string
	TypeID uint32
	// NoTrampoline says why no trampoline can be put there, as far as that is known before the kernel
	// is asked.
	NoTrampoline error
	// Uncertain says that the kernel does not say which of several functions of this name can be
	// traced.
	Uncertain bool
}

// KernelParam is an argument or a result. Its place is in the probe's Args.
type KernelParam struct {
	Name, Type string
	TypeID     uint32 // in the BTF of the function's module; 0 if there is none
	Size       int
	Signed     bool
	Bool, Text bool
	Pointer    bool // also if it is Text
	// Values are the names of an enumeration's values.
	Enum   string
	Values []NamedValue
	// Err says why it cannot be read, nil if it can.
	Err error
}
