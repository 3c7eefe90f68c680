package notes

// Class and Machine have the values of elf.Class and elf.Machine, which can be converted:
//
//	notes.ParseArgs(notes.Machine(file.Machine), notes.Class(file.Class), note.Args)
//
// A program that imports debug/elf also links its decompressors and debug/dwarf,
// whose tables are made when the program starts: 41 kB for each service that declares
// probes.
type (
	Class   uint8  // size of addresses; any value except ELFCLASS32 means 8 bytes
	Machine uint16 // architecture
)

// The two classes, and the architectures whose argument strings this package
// parses.
const (
	ELFCLASS32 Class = 1
	ELFCLASS64 Class = 2

	EM_NONE      Machine = 0
	EM_386       Machine = 3
	EM_MIPS      Machine = 8
	EM_PPC       Machine = 20
	EM_PPC64     Machine = 21
	EM_S390      Machine = 22
	EM_ARM       Machine = 40
	EM_X86_64    Machine = 62
	EM_AARCH64   Machine = 183
	EM_RISCV     Machine = 243
	EM_LOONGARCH Machine = 258
)
