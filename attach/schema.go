package attach

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

type valueSource uint8

const (
	fromNowhere valueSource = iota // err says why
	fromConstant
	fromRecord // integer, float or bool at offset
	fromRaw    // length bytes at offset, as they are
	fromString // string number index
)

// field says where an argument's value lies in a record.
type field struct {
	name   string
	err    error
	source valueSource
	kind   reader.FieldKind
	size   uint8
	value  any // fromConstant
	offset int // fromRecord, fromRaw: in the record
	length int // fromRaw
	index  int // fromString: in signature.strings
	read   int // bit of headErrors
}

// schema decodes the records of a site.
type schema struct {
	sig    *signature
	fields []field
	shared bool // with a site that was bound before
}

// decode returns the arguments in the record rec.
func (s *schema) decode(rec []byte) ([]Arg, error) {
	if len(rec) < s.sig.fixedSize() {
		return nil, fmt.Errorf("event of %d bytes, its fixed part alone has %d", len(rec), s.sig.fixedSize())
	}
	if len(s.fields) == 0 {
		return nil, nil
	}
	failed := binary.NativeEndian.Uint32(rec[headErrors:])
	var texts []text
	if len(s.sig.strings) > 0 {
		var err error
		if texts, err = s.texts(rec, failed); err != nil {
			return nil, err
		}
	}
	args := make([]Arg, len(s.fields))
	for i := range s.fields {
		f, a := &s.fields[i], &args[i]
		a.Name, a.Err = f.name, f.err
		switch {
		case f.source == fromNowhere:
		case f.source == fromConstant:
			a.Value = f.value
		case failed&(1<<f.read) != 0:
			a.Err = s.readError(rec, f)
		case f.source == fromRecord:
			a.Value = scalar(rec[f.offset:], f.kind, f.size)
		case f.source == fromRaw:
			a.Value = slices.Clone(rec[f.offset : f.offset+f.length])
		case f.source == fromString:
			t := texts[f.index]
			if f.kind == reader.Bytes {
				a.Value = append([]byte{}, t.bytes...)
			} else {
				a.Value = string(t.bytes)
			}
			a.Err = t.err
		}
	}
	return args, nil
}

// readError is why a read has failed.
func (s *schema) readError(rec []byte, f *field) error {
	if f.source == fromString {
		if str := &s.sig.strings[f.index]; str.counted && str.lengthSigned {
			if n := int64(s.length(rec, str)); n < 0 {
				return fmt.Errorf("its length is %d", n)
			}
		}
	}
	return ErrFault
}

// text is a string of a record.
type text struct {
	bytes []byte
	err   error
}

func (s *schema) texts(rec []byte, failed uint32) ([]text, error) {
	limit := uint64(s.sig.stringLimit())
	bit := s.sig.reads() - len(s.sig.strings)
	rest := rec[s.sig.fixedSize():]
	texts := make([]text, len(s.sig.strings))
	blockFailed := s.sig.block && failed&(1<<len(s.sig.operands)) != 0
	for i, str := range s.sig.strings {
		if failed&(1<<(bit+i)) != 0 {
			continue
		}
		var have, keep uint64
		if str.sized || str.counted {
			length := s.length(rec, &str)
			have = min(length, limit)
			keep = have
			if length > limit {
				texts[i].err = fmt.Errorf("%w to %d of %d bytes", ErrTruncated, limit, length)
			}
		} else {
			have = binary.NativeEndian.Uint64(rec[headSize+8*str.slot:])
			keep = have
			if have > limit {
				keep = limit
				texts[i].err = fmt.Errorf("%w to %d bytes", ErrTruncated, limit)
			}
		}
		if have > uint64(len(rest)) {
			return nil, fmt.Errorf("event of %d bytes ends within string %d of %d bytes", len(rec), i, have)
		}
		texts[i].bytes, rest = rest[:keep], rest[have:]
	}
	if blockFailed {
		for i := range texts {
			texts[i] = text{err: ErrFault}
		}
	}
	return texts, nil
}

// length returns the length of text that says it.
func (s *schema) length(rec []byte, str *stringRead) uint64 {
	if str.sized {
		return binary.NativeEndian.Uint64(rec[s.sig.blockStart()+int(str.length):])
	}
	kind := reader.Uint
	if str.lengthSigned {
		kind = reader.Int
	}
	return bitsOf(scalar(rec[headSize+8*str.lengthSlot:], kind, str.lengthSize))
}

// scalar decodes the value at the beginning of b, in the host's byte order.
func scalar(b []byte, kind reader.FieldKind, size uint8) any {
	var u uint64
	switch size {
	case 1:
		u = uint64(b[0])
	case 2:
		u = uint64(binary.NativeEndian.Uint16(b))
	case 4:
		u = uint64(binary.NativeEndian.Uint32(b))
	default:
		u = binary.NativeEndian.Uint64(b)
	}
	return value(u, kind, size)
}

// value interprets the low size bytes of u.
func value(u uint64, kind reader.FieldKind, size uint8) any {
	unused := 64 - 8*uint(size)
	switch kind {
	case reader.Int:
		return int64(u<<unused) >> unused
	case reader.Bool:
		return u<<unused != 0
	case reader.Float:
		if size == 4 {
			return float64(math.Float32frombits(uint32(u)))
		}
		return math.Float64frombits(u)
	}
	return u << unused >> unused
}

// kindOf is the kind of value that the note of an untyped probe declares.
func kindOf(a notes.Arg) reader.FieldKind {
	switch {
	case a.Float:
		return reader.Float
	case a.Signed:
		return reader.Int
	}
	return reader.Uint
}

func argName(i int) string { return "arg" + strconv.Itoa(i) }
