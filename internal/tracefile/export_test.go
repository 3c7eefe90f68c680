package tracefile

import "encoding/binary"

// Read reads a file in memory.
var Read = read

// AppendCalls appends a chunk of what stacks are.
func AppendCalls(b, payload []byte) []byte {
	at := len(b)
	b = append(append(b, make([]byte, chunkSize)...), payload...)
	putHeader(b[at:], tagCalls, b[at+chunkSize:])
	return b
}

// Sign makes the checksums of a file's chunks right.
func Sign(b []byte) {
	for at := headerSize; len(b)-at >= chunkSize; {
		length := int(binary.LittleEndian.Uint32(b[at+4:]))
		if length > len(b)-at-chunkSize {
			return
		}
		putHeader(b[at:], tag(b[at:]), b[at+chunkSize:at+chunkSize+length])
		at += chunkSize + length
	}
}
