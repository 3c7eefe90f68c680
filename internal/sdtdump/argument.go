package sdtdump

import (
	"math/bits"
	"strconv"

	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/notes"
)

// appendArgument appends the type and place of an argument: a register by name,
// memory in brackets, a constant behind '='. All of the text is printable.
func appendArgument(b []byte, a *notes.Arg) []byte {
	if a.Err != nil {
		return strconv.AppendQuote(append(b, '?'), a.Text)
	}
	switch {
	case a.Float:
		b = append(b, "float"...)
	case a.Signed:
		b = append(b, "int"...)
	default:
		b = append(b, "uint"...)
	}
	b = strconv.AppendInt(b, int64(8*a.Size), 10)
	b = append(b, ' ')
	switch a.Kind {
	case notes.Reg:
		b = append(b, a.Reg...)
		if a.Pair != "" {
			b = append(append(b, ':'), a.Pair...)
		}
	case notes.Imm:
		b = append(b, '=')
		if a.Symbol == "" {
			return appendImmediate(b, a)
		}
		b = appendSymbol(b, a)
		b = appendDisp(b, a.Disp)
	case notes.Mem:
		b = appendMemory(b, a)
	}
	return b
}

func appendMemory(b []byte, a *notes.Arg) []byte {
	b = append(b, '[')
	if a.Segment != "" {
		b = append(append(b, a.Segment...), ':')
	}
	start := len(b)
	plus := func() {
		if len(b) > start {
			b = append(b, '+')
		}
	}
	if a.Base != "" {
		b = append(b, a.Base...)
	}
	if a.Index != "" {
		plus()
		b = append(b, a.Index...)
		if a.Extend != "" {
			b = append(append(b, ' '), a.Extend...)
		}
		if a.Scale > 1 {
			b = strconv.AppendInt(append(b, '*'), int64(a.Scale), 10)
		}
	}
	if a.Symbol != "" {
		plus()
		b = appendSymbol(b, a)
	}
	switch {
	case len(b) == start:
		b = appendHex(b, uint64(a.Disp))
	default:
		b = appendDisp(b, a.Disp)
	}
	return append(b, ']')
}

func appendSymbol(b []byte, a *notes.Arg) []byte {
	b = printable.Append(b, a.Symbol)
	if a.Reloc != "" {
		b = append(append(b, '@'), a.Reloc...)
	}
	return b
}

func appendDisp(b []byte, disp int64) []byte {
	if disp > 0 {
		b = append(b, '+')
	}
	if disp != 0 {
		b = strconv.AppendInt(b, disp, 10)
	}
	return b
}

func appendHex(b []byte, v uint64) []byte {
	n := (bits.Len64(v|1) + 3) / 4 // digits
	b = append(b, "0x0000000000000000"[:2+n]...)
	for i := len(b) - 1; v > 0; i-- {
		b[i] = "0123456789abcdef"[v&15]
		v >>= 4
	}
	return b
}
