// Package dwarfop has the numbers of operations of DWARF's expressions (DWARF 5, section 7.7.1), and of GNU's
// extensions, which readers of frames and of variables know.
package dwarfop

const (
	Addr           = 0x03
	Deref          = 0x06
	Const1u        = 0x08
	Const1s        = 0x09
	Const2u        = 0x0a
	Const2s        = 0x0b
	Const4u        = 0x0c
	Const4s        = 0x0d
	Const8u        = 0x0e
	Const8s        = 0x0f
	Constu         = 0x10
	Consts         = 0x11
	Dup            = 0x12
	Drop           = 0x13
	Over           = 0x14
	Pick           = 0x15
	Swap           = 0x16
	Rot            = 0x17
	Abs            = 0x19
	And            = 0x1a
	Minus          = 0x1c
	Mul            = 0x1e
	Neg            = 0x1f
	Not            = 0x20
	Or             = 0x21
	Plus           = 0x22
	PlusUconst     = 0x23
	Shl            = 0x24
	Shr            = 0x25
	Shra           = 0x26
	Xor            = 0x27
	Bra            = 0x28
	Eq             = 0x29
	Ge             = 0x2a
	Gt             = 0x2b
	Le             = 0x2c
	Lt             = 0x2d
	Ne             = 0x2e
	Skip           = 0x2f
	Lit0           = 0x30
	Reg0           = 0x50
	Breg0          = 0x70
	Regx           = 0x90
	Fbreg          = 0x91
	Bregx          = 0x92
	Piece          = 0x93
	DerefSize      = 0x94
	Nop            = 0x96
	FormTLS        = 0x9b
	CallFrameCFA   = 0x9c
	ImplicitValue  = 0x9e
	StackValue     = 0x9f
	ImplicitPtr    = 0xa0
	Addrx          = 0xa1
	EntryValue     = 0xa3
	GNUTLS         = 0xe0
	GNUImplicitPtr = 0xf2
	GNUEntryValue  = 0xf3
	GNUAddrIndex   = 0xfb
)
