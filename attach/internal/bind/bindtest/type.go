package bindtest

import (
	"github.com/cilium/ebpf/btf"

	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// Offsets of the members of [Request] in its argument block.
const (
	RequestID     = 0
	RequestStatus = 8
	RequestPath   = 16
	RequestLen    = 24 // of the path
	RequestRatio  = 32
	RequestPeer   = 40
	RequestSize   = 48
)

// Request returns the type of a probe with numbers, a text, and a pointer to a struct, whose
// block register rax leads to.
func Request() *reader.Type {
	u64 := &btf.Int{Name: "unsigned long", Size: 8}
	i32 := &btf.Int{Name: "int", Size: 4, Encoding: btf.Signed}
	double := &btf.Float{Name: "double", Size: 8}
	char := &btf.Int{Name: "char", Size: 1, Encoding: btf.Char}
	peer := &btf.Struct{Name: "peer", Size: 16, Members: []btf.Member{
		{Name: "port", Type: i32}, {Name: "weight", Type: u64, Offset: 64},
	}}
	return typeOf(RequestSize, []btf.Member{
		{Name: "id", Type: u64}, {Name: "status", Type: i32, Offset: 8 * RequestStatus},
		{Name: "path", Type: &btf.Pointer{Target: char}, Offset: 8 * RequestPath}, {Name: "__path_len", Type: u64, Offset: 8 * RequestLen},
		{Name: "ratio", Type: double, Offset: 8 * RequestRatio},
		{Name: "peer", Type: &btf.Pointer{Target: peer}, Offset: 8 * RequestPeer},
	})
}

// numbers returns the type of a probe whose arguments are in registers.
func numbers() *reader.Type {
	return typeOf(16, []btf.Member{
		{Name: "id", Type: &btf.Int{Name: "unsigned long", Size: 8}},
		{Name: "code", Type: &btf.Int{Name: "int", Size: 4, Encoding: btf.Signed}, Offset: 64},
	})
}

func typeOf(size uint32, members []btf.Member) *reader.Type {
	st := &btf.Struct{Size: size, Members: members}
	return &reader.Type{Struct: st, Fields: reader.Fields(st), Record: notes.TypeRecord{BlockSize: size}}
}
