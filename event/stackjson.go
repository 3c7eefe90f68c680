package event

import (
	"strconv"

	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/symbols"
)

// AppendJSON appends the stack to dst as a JSON array, an object for each frame, or null
// if there are no addresses:
//
//	{"addr": …, "func": …, "file": …, "line": …, "inlined": true, "module": …, "offset": …, "build_id": …, "kernel": true}
//
// Unknown parts are left out.
func (s *Stack) AppendJSON(dst []byte) []byte {
	if len(s.PCs) == 0 {
		return append(dst, "null"...)
	}
	dst = append(dst, '[')
	for i, f := range s.Frames() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendFrame(dst, &f)
	}
	return append(dst, ']')
}

// AppendError appends the member of a JSON object that says what the stack lacks, with a comma
// before it: "truncated", or "stack_error" if it has no addresses. It appends nothing if Err is nil.
func (s *Stack) AppendError(dst []byte) []byte {
	if s.Err == nil {
		return dst
	}
	dst = append(append(append(dst, `,"`...), s.ErrorKey()...), `":`...)
	return printable.AppendString(dst, s.Err.Error())
}

// ErrorKey returns the name of the member that AppendError appends.
func (s *Stack) ErrorKey() string {
	if len(s.PCs) == 0 {
		return "stack_error"
	}
	return "truncated"
}

func appendFrame(dst []byte, f *symbols.Frame) []byte {
	dst = strconv.AppendUint(append(dst, `{"addr":`...), f.Address, 10)
	text := func(key, value string) {
		if value != "" {
			dst = append(append(append(dst, `,"`...), key...), `":`...)
			dst = printable.AppendString(dst, value)
		}
	}
	text("func", f.Func)
	text("file", f.File)
	if f.Line > 0 {
		dst = strconv.AppendInt(append(dst, `,"line":`...), int64(f.Line), 10)
	}
	if f.Inlined {
		dst = append(dst, `,"inlined":true`...)
	}
	if f.Module != "" {
		text("module", f.Module)
		dst = strconv.AppendUint(append(dst, `,"offset":`...), f.Offset, 10)
	}
	text("build_id", f.BuildID)
	if f.Kernel() {
		dst = append(dst, `,"kernel":true`...)
	}
	return append(dst, '}')
}
