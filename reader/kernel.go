package reader

import "sync"

// KernelFunction describes a function of the kernel, at its entry or its return, or a tracepoint.
type KernelFunction struct {
	// Fields are the fields of a Tracepoint's record. A value is at Offset; with Memory, the
	// elements or the text are there. With Follow, a word at Offset says by its lower half where they are,
	// FollowOffset bytes further in the record, and by its upper half how many bytes.
	Fields []Variable
	// Err says why nothing is known of a Tracepoint, nil if its fields are known.
	Err error
	// Uncertain says that the kernel does not say which of several functions of this name can be
	// traced.
	Uncertain bool

	// Form, unless it is nil, returns what functions have in common at which programs read the same, since as
	// many registers hold their arguments or results, and what is elsewhere has the same kinds and sizes,
	// whatever they are called. It is empty if nothing is known of these. Types takes longer.
	Form func() string

	describe func() KernelTypes
	once     sync.Once
	types    *KernelTypes
}

// NewKernelFunction returns a function that describe describes. It is called once, when somebody asks
// for Types: who only counts the calls of a thousand functions needs no types of theirs.
func NewKernelFunction(describe func() KernelTypes) *KernelFunction {
	return &KernelFunction{describe: describe}
}

// Types returns what the kernel's types say of a function: nothing of a Tracepoint, nor of a function in
// a recording.
func (k *KernelFunction) Types() *KernelTypes {
	k.once.Do(func() {
		types := KernelTypes{Err: k.Err}
		if k.describe != nil {
			types, k.describe = k.describe(), nil
		}
		k.types = &types
	})
	return k.types
}

// KernelTypes describes the arguments of a function of the kernel, at its entry, or its result.
type KernelTypes struct {
	// Declaration is the function as C declares it, empty if its types are not known.
	Declaration string
	// Params are the arguments at the entry, or retval at the return; at Fexit both.
	Params []KernelParam
	// Args says where these are, as a note does: [Probe.Arguments] parses it.
	Args string
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
}

// KernelParam is an argument or a result. Its place is in [KernelTypes.Args].
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
