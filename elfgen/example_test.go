package elfgen_test

import (
	"bytes"
	"debug/elf"
	"fmt"
	"log"

	"github.com/go-usdt/usdt/elfgen"
)

// A library with one function, which returns at once.
func Example() {
	text := &elfgen.Section{Name: ".text", Type: elfgen.SHT_PROGBITS, Flags: elfgen.SHF_ALLOC | elfgen.SHF_EXECINSTR, Align: 16, Size: 1}
	library := &elfgen.Object{
		Class: elfgen.ELFCLASS64, Data: elfgen.ELFDATA2LSB, Machine: elfgen.EM_X86_64,
		Soname:   "libnothing.so",
		Sections: []*elfgen.Section{text},
		Symbols:  []elfgen.Symbol{{Name: "nothing", Section: text, Size: 1, Type: elfgen.STT_FUNC}},
	}
	image, err := library.Layout() // everything has its address now
	if err != nil {
		log.Fatal(err)
	}
	copy(image.Contents(text), []byte{0xc3}) // ret
	file := image.Finish()

	f, err := elf.NewFile(bytes.NewReader(file))
	if err != nil {
		log.Fatal(err)
	}
	symbols, err := f.DynamicSymbols()
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range symbols {
		fmt.Println(f.Type, s.Name, s.Value == text.Addr)
	}
	// Output: ET_DYN nothing true
}
