package elfgen

// Types and constants that have the names and values of those in package debug/elf.
// A program that imports debug/elf also links its decompressors and debug/dwarf, whose tables are
// made when the program starts: 41 kB for each service that declares probes.
type (
	Class       uint8  // size of addresses
	Data        uint8  // byte order
	Machine     uint16 // architecture; every number is written as it is
	SectionType uint32
	SectionFlag uint32
	SymType     uint8
	ProgFlag    uint32 // what a segment's memory can be used for
)

// The values that this package treats specially, and the values that its callers need most.
const (
	ELFCLASS32 Class = 1
	ELFCLASS64 Class = 2

	ELFDATA2LSB Data = 1
	ELFDATA2MSB Data = 2

	EM_S390      Machine = 22
	EM_ALPHA_STD Machine = 41
	EM_X86_64    Machine = 62
	EM_AARCH64   Machine = 183
	EM_ALPHA     Machine = 0x9026

	SHT_PROGBITS SectionType = 1
	SHT_STRTAB   SectionType = 3
	SHT_HASH     SectionType = 5
	SHT_DYNAMIC  SectionType = 6
	SHT_NOTE     SectionType = 7
	SHT_NOBITS   SectionType = 8
	SHT_DYNSYM   SectionType = 11

	SHF_WRITE     SectionFlag = 1
	SHF_ALLOC     SectionFlag = 2
	SHF_EXECINSTR SectionFlag = 4

	STT_OBJECT SymType = 1
	STT_FUNC   SymType = 2

	PF_X ProgFlag = 1
	PF_W ProgFlag = 2
	PF_R ProgFlag = 4
)

// Values that only the writer itself needs, such as EV_CURRENT and DT_HASH.
const (
	elfMagic     = "\x7fELF"
	evCurrent    = 1
	osABINone    = 0
	etDyn        = 3
	shnLoReserve = 0xff00

	ptLoad     = 1
	ptDynamic  = 2
	ptNote     = 4
	ptGNUStack = 0x6474e551

	dtNull   = 0
	dtHash   = 4
	dtStrTab = 5
	dtSymTab = 6
	dtStrSz  = 10
	dtSymEnt = 11
	dtSoname = 14

	stbGlobal  = 1
	stvDefault = 0
)
