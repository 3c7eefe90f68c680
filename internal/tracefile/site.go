package tracefile

// Site describes a site, and how its records are decoded. Its numbers are the numbers of a
// record: see internal/record, and FORMAT.md.
type Site struct {
	Number uint32 `json:"number"` // in the records that follow; it may stand for another site later
	PID    int    `json:"pid,omitempty"`
	Probe  Probe  `json:"probe"`

	// Local says that the records came through shared memory: they do not have the thread.
	Local bool `json:"shared_memory,omitempty"`

	// Carrier is what stays the same from a start to its end: "thread", "goroutine",
	// "call", or empty if nothing does. CarrierSlot has the address of the goroutine or of
	// the call's frame. Slots that are not recorded are -1.
	Carrier     string `json:"carrier,omitempty"`
	CarrierSlot int    `json:"carrier_slot"`
	CPU         int    `json:"cpu_slot"`
	UID         int    `json:"uid_slot"`
	Cgroup      *int   `json:"cgroup_slot,omitempty"` // of the id of a control group, see Group

	Layout  Layout   `json:"layout"`
	Fields  []Field  `json:"fields,omitempty"`
	Unshown []Field  `json:"unshown,omitempty"`
	Places  []string `json:"places,omitempty"`
	Named   bool     `json:"named,omitempty"`
	IPv4    bool     `json:"ipv4_slot,omitempty"`
}

// Probe is the probe of a site.
type Probe struct {
	Kind     string `json:"kind"` // "usdt", "uprobe" or "uretprobe"
	Provider string `json:"provider"`
	Name     string `json:"name"`
	Args     string `json:"args,omitempty"` // of its note
	Path     string `json:"path"`
	BuildID  string `json:"build_id,omitempty"`
	Machine  uint16 `json:"machine"` // as e_machine of ELF
	Class    uint8  `json:"class"`   // as EI_CLASS of ELF
	Location uint64 `json:"location"`
	Offset   uint64 `json:"offset"` // in the file
	Go       bool   `json:"go,omitempty"`

	Typed    bool      `json:"typed,omitempty"`
	Types    []Type    `json:"types,omitempty"` // of its arguments, if it is typed
	Function *Function `json:"function,omitempty"`
}

// Type is what an object says about an argument.
type Type struct {
	Name    string `json:"name"`
	C       string `json:"c"` // as a C declaration names it
	Kind    string `json:"kind"`
	Meaning string `json:"meaning,omitempty"`
	Offset  uint32 `json:"offset"`
	Size    uint32 `json:"size"`
	Length  uint32 `json:"length,omitempty"`
}

// Function is the function of a site that is none of a probe.
type Function struct {
	Symbols []string `json:"symbols"`
	Address uint64   `json:"address"`
	Size    uint64   `json:"size,omitempty"`
}

// Layout is that of record.Layout.
type Layout struct {
	Slots     int        `json:"slots"`
	Block     uint32     `json:"block,omitempty"`
	Indirects []Indirect `json:"indirects,omitempty"`
	Strings   []String   `json:"strings,omitempty"`
	Limit     int        `json:"limit"`
	// Stacks is how many addresses stacks have at most; 0 for none. If there are, records end
	// with the number of theirs, 8 bytes.
	Stacks int `json:"stacks,omitempty"`
}

// Indirect is that of record.Indirect.
type Indirect struct {
	Pointer uint32 `json:"pointer"`
	Size    uint32 `json:"size"`
	Length  uint32 `json:"length,omitempty"`
	Elem    uint32 `json:"element,omitempty"`
}

// String is that of record.String.
type String struct {
	Sized        bool   `json:"sized,omitempty"`
	Pointer      uint32 `json:"pointer,omitempty"`
	Length       uint32 `json:"length,omitempty"`
	Elem         uint32 `json:"element,omitempty"`
	Region       int    `json:"region,omitempty"`
	Slot         int    `json:"slot,omitempty"`
	Max          int    `json:"-"` // decides what programs copy
	Counted      bool   `json:"counted,omitempty"`
	LengthSlot   int    `json:"length_slot,omitempty"`
	LengthSize   uint8  `json:"length_size,omitempty"`
	LengthSigned bool   `json:"length_signed,omitempty"`
}

// Field is that of shape.Field.
type Field struct {
	Name    string  `json:"name"`
	Err     string  `json:"error,omitempty"`
	From    string  `json:"from"`
	Kind    string  `json:"kind,omitempty"`
	Meaning string  `json:"meaning,omitempty"`
	Size    uint8   `json:"size,omitempty"`
	Read    int     `json:"read,omitempty"`
	Offset  int     `json:"offset,omitempty"`
	Index   int     `json:"string,omitempty"`
	Bits    uint64  `json:"bits,omitempty"`
	Parts   []Field `json:"parts,omitempty"`
	Count   int     `json:"count,omitempty"`
	Stride  int     `json:"stride,omitempty"`
	Strings int     `json:"strings,omitempty"`
	Whole   int     `json:"whole,omitempty"`
	Length  int     `json:"length,omitempty"`
	Counted int     `json:"counted,omitempty"`
	Wide    bool    `json:"utf16,omitempty"`
}
