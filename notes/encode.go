package notes

import (
	"strconv"
)

// Append appends the argument as text for a note of machine m to dst and returns
// the result. The text has one form for each meaning: whatever string a was parsed
// from, parsing the text again yields the same Arg except for Text and Offset. An
// argument that was not understood is appended as it was.
func (a *Arg) Append(dst []byte, m Machine) []byte {
	g := grammarOf(m)
	if g == nil || a.Err != nil || a.Kind < Imm || a.Kind > Mem {
		return append(dst, a.Text...)
	}
	if a.Signed {
		dst = append(dst, '-')
	}
	dst = strconv.AppendInt(dst, int64(a.Size), 10)
	if a.Float {
		dst = append(dst, 'f')
	}
	dst = append(dst, '@')
	return g.append(dst, a)
}

// appendImmediate appends a constant as a signed number, or a symbol's address.
func appendImmediate(dst []byte, a *Arg) []byte {
	if a.Symbol != "" {
		return appendExpr(dst, a)
	}
	return strconv.AppendInt(dst, int64(a.Value), 10)
}

// appendExpr appends the displacement and symbol: 40+sym@GOTOFF.
func appendExpr(dst []byte, a *Arg) []byte {
	dst = appendSum(dst, a)
	if a.Symbol != "" && a.Reloc != "" {
		dst = append(append(dst, '@'), a.Reloc...)
	}
	return dst
}

// appendSum is appendExpr without the relocation.
func appendSum(dst []byte, a *Arg) []byte {
	if a.Symbol == "" {
		return strconv.AppendInt(dst, a.Disp, 10)
	}
	if a.Disp != 0 {
		dst = append(strconv.AppendInt(dst, a.Disp, 10), '+')
	}
	return append(dst, a.Symbol...)
}

// appendBare is appendExpr for places where a symbol alone would be ambiguous: it
// always begins with the number.
func appendBare(dst []byte, a *Arg) []byte {
	if a.Symbol != "" && a.Disp == 0 {
		dst = append(dst, "0+"...)
	}
	return appendExpr(dst, a)
}

// appendRelocated appends %lo(8+sym), or the text of appendExpr if there is no
// relocation.
func appendRelocated(dst []byte, a *Arg) []byte {
	if a.Reloc == "" {
		return appendSum(dst, a)
	}
	dst = append(append(dst, '%'), a.Reloc...)
	return append(appendSum(append(dst, '('), a), ')')
}
