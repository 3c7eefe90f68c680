package codegen

// section is a part of a record, see package record: how it is read and written.
// A nil function is not needed. The memory that it takes is in memory.go.
type section struct {
	// read reads memory that may have to be brought in, before the condition is
	// tested: into the record if it is assembled in scratch memory, otherwise
	// onto the stack.
	read func(*generator)
	// write completes the record, if the event is wanted, with what read has not
	// put there. Outside scratch memory it must not sleep: a record that is
	// reserved in the ring holds up those behind it. Bytes behind the fixed part begin
	// at regCursor, which write moves and then bounds by the generator's cursorMask.
	write func(*generator)
}

// sections are the sections of a record in the order of their code. A new one
// needs a file like theirs and a line here.
var sections = []section{
	header(),
	slots(),
	block(),
	indirects(),
	stringSection(),
	stackSection(),
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
