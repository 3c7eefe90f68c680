package notes_test

import (
	"encoding/binary"
	"fmt"

	"github.com/go-usdt/usdt/notes"
)

func ExampleParseArgs() {
	for _, a := range notes.ParseArgs(notes.EM_X86_64, notes.ELFCLASS64, "-4@%eax 8@16(%rbp,%rcx,8) 3@%rax") {
		switch {
		case a.Err != nil:
			fmt.Println(a.Err)
		case a.Kind == notes.Reg:
			r, _ := notes.LookupRegister(notes.EM_X86_64, notes.ELFCLASS64, a.Reg)
			fmt.Printf("%d bytes of %s, signed: %v\n", a.Size, r.Name, a.Signed)
		case a.Kind == notes.Mem:
			fmt.Printf("%d bytes at %s + %s*%d + %d\n", a.Size, a.Base, a.Index, a.Scale, a.Disp)
		}
	}
	// Output:
	// 4 bytes of rax, signed: true
	// 8 bytes at rbp + rcx*8 + 16
	// argument "3@%rax": size "3" is not 1, 2, 4, 8 or 16 (at byte 26 of the argument string)
}

func ExampleAll() {
	section := notes.Note{
		Provider: "myapp", Name: "request_start",
		Location: 0x401136, Semaphore: 0x404028, Args: "8@%rdi -4@%esi",
	}.Append(nil, binary.LittleEndian, notes.ELFCLASS64)

	for n, err := range notes.All(section, binary.LittleEndian, notes.ELFCLASS64) {
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Printf("%s:%s at %#x, arguments %s\n", n.Provider, n.Name, n.Location, n.Args)
	}
	// Output:
	// myapp:request_start at 0x401136, arguments 8@%rdi -4@%esi
}
