// Package elfgen writes ELF shared objects: small, complete ones that a
// dynamic linker loads and that every ELF tool reads without a complaint.
//
// An [Object] names sections and symbols. [Object.Layout] gives them addresses
// and file offsets; only then are contents written, straight into the
// [Image], so that contents can depend on addresses and nothing is copied:
//
//	text := &elfgen.Section{Name: ".text", Type: elfgen.SHT_PROGBITS, Flags: elfgen.SHF_ALLOC | elfgen.SHF_EXECINSTR, Align: 16, Size: 16}
//	obj := &elfgen.Object{Class: elfgen.ELFCLASS64, Data: elfgen.ELFDATA2LSB, Machine: elfgen.EM_X86_64, Sections: []*elfgen.Section{text}}
//	img, err := obj.Layout()
//	if err != nil { … }
//	copy(img.Contents(text), code)
//	file := img.Finish()
//
// The same Object and contents always give the same bytes. The formats follow
// the System V gABI, https://gabi.xinuos.com.
package elfgen
