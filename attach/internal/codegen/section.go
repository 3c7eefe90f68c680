package codegen

// section is a part of a record, see package record: how it gets there, and what it
// needs for that. What is nil is not needed.
type section struct {
	// read reads what may have to be brought in, before the condition is looked at:
	// into the record if that is put together in scratch memory, onto the stack if
	// not.
	read func(*generator)
	// write puts into a record that is wanted what read has not put there. Outside
	// scratch memory it must not sleep: a record that is reserved in the ring holds up
	// those behind it.
	write func(*generator)

	// scratch says that records have to be put together in scratch memory.
	scratch func(*Signature) bool
	// memory says that read reads memory which need not be resident.
	memory func(*Signature) bool
	// behind is the most bytes that the section has behind the fixed part, from
	// regCursor on, which write moves and then bounds by the generator's cursorMask.
	behind func(*Signature) int
}

// sections are those of a record in the order of their code. A part that is new is
// a file like theirs and a line here.
var sections = []section{
	header(),
	slots(),
	block(),
	indirects(),
	texts(),
	failures(),
}

func (g *generator) readSections() {
	for _, s := range sections {
		if s.read != nil {
			s.read(g)
		}
	}
}

func (g *generator) writeSections() {
	for _, s := range sections {
		if s.write != nil {
			s.write(g)
		}
	}
}
