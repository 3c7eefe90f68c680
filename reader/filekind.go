package reader

// Stripped reports whether the file has lost its table of symbols and no other file
// has it. Then only exported functions and functions of a Go program have names.
func (f *File) Stripped() bool {
	if f.hasSymtab() || f.elf.Section(".gnu_debugdata") != nil {
		return false
	}
	table, err := f.debugFile()
	return table == nil || err != nil
}

// IsGo reports whether Go's linker wrote the file, a program or a library.
func (f *File) IsGo() bool {
	for _, name := range []string{".gopclntab", ".data.rel.ro.gopclntab", ".go.buildinfo"} {
		if f.elf.Section(name) != nil {
			return true
		}
	}
	return false
}

// IsGo reports whether the probe's object has code of Go, possibly beside C.
func (p *Probe) IsGo() bool { return p.file != nil && p.file.code().IsGo() }
