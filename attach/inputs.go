package attach

import (
	"github.com/go-usdt/usdt/attach/internal/filter"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/reader"
)

type inputSource uint8

const (
	inputMissing  inputSource = iota // cannot be read
	inputConstant                    // value
	inputOperand                     // operand number index
	inputBlock                       // at offset in the argument block
	inputGoTime                      // a notes.GoTimeType at offset there
	inputGoAddr                      // a notes.GoAddrType at offset there
	inputText                        // what text reads
	inputComm
	inputPID
	inputTID
	inputProbe    // the index of the site
	inputElapsed  // since the start, in nanoseconds
	inputThread   // process and thread
	inputRegister // the word at offset in the context, plus value
	inputStart    // of an end: noted at its start, at offset in what was
)

// input is a value that the kernel looks at, as opposed to one that it records.
// It is comparable.
type input struct {
	source  inputSource
	kind    reader.FieldKind
	meaning reader.Meaning
	size    uint8 // bytes of a number
	value   uint64
	index   int
	offset  uint32
	text    record.String
}

// elapsed is the value of an end.
var elapsed = input{source: inputElapsed, kind: reader.Uint, size: 8}

// inBlock says that the input lies at offset in the argument block.
func (in *input) inBlock() bool {
	return in.source == inputBlock || in.source == inputGoTime || in.source == inputGoAddr
}

func (in *input) isText() bool { return in.kind == reader.String || in.kind == reader.Bytes }

func (in *input) filterKind() filter.Kind {
	switch in.meaning {
	case reader.Duration:
		return filter.Duration
	case reader.Time:
		return filter.Time
	case reader.Address:
		return filter.Address
	}
	switch in.kind {
	case reader.Int:
		return filter.Int
	case reader.Bool:
		return filter.Bool
	case reader.Float:
		return filter.Float
	case reader.String, reader.Bytes:
		return filter.Text
	}
	return filter.Uint
}
