package stackswitch

// registers is a set of registers.
type registers uint32

func (r registers) has(n int) bool { return n != none && r&(1<<n) != 0 }

func (r *registers) set(n int, in bool) {
	if n == none {
		return
	}
	if *r &^= 1 << n; in {
		*r |= 1 << n
	}
}

// state is what is known of registers at an instruction, as the instructions before it in
// memory have it.
type state struct {
	sp        int       // the number of the stack pointer
	whole     bool      // the instructions are a function's, from its start on
	addresses registers // hold addresses in the stack's memory
	slots     registers // hold what was in the stack's memory, perhaps such an address
	ever      registers // have held such an address in this function
	written   registers // in this function
	saved     bool      // the stack pointer has been copied, in this function as it seems
	stored    int       // instructions since it was stored, into memory that is not the stack's; 0 if it was not
}

// write notes what an instruction writes to a register.
func (s *state) write(n int, address, slot bool) {
	if n == s.sp {
		return
	}
	s.addresses.set(n, address)
	s.slots.set(n, slot)
	s.written.set(n, true)
	s.ever |= s.addresses
}

// returned notes that no instruction leads to the next one, which may be a function's first.
func (s *state) returned() {
	if s.whole {
		s.jumped()
	} else {
		*s = state{sp: s.sp}
	}
}

// jumped notes that the next instruction is reached from elsewhere.
func (s *state) jumped() { s.saved, s.stored, s.addresses = false, 0, s.ever }

// loads reports whether the stack pointer gets what does not come from the stack with the
// value of a register; arguments are registers that have values when a function begins.
func (s *state) loads(n int, arguments registers) bool {
	return (s.written | arguments).has(n) && !s.addresses.has(n) && !s.slots.has(n)
}
