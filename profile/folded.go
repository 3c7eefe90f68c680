package profile

import (
	"bufio"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/go-usdt/usdt/internal/printable"
)

// WriteFolded writes a line for each stack: the name of the thread, if it is known, and the
// functions, the outermost first, between semicolons; then the value that is shown first. Functions
// of the kernel end with "_[k]", by which tools that draw such stacks know them.
func (p *Profile) WriteFolded(w io.Writer) error {
	lines, sums := p.folded()
	out := bufio.NewWriter(w)
	for _, line := range lines {
		out.WriteString(line)
		out.WriteByte(' ')
		out.Write(strconv.AppendInt(nil, sums[line], 10))
		out.WriteByte('\n')
	}
	return out.Flush()
}

// folded returns the stacks as such lines, and the values of each.
func (p *Profile) folded() (lines []string, sums map[string]int64) {
	sums = map[string]int64{}
	for _, s := range p.sorted() {
		var b []byte
		if s.comm != "" {
			b = append(appendName(b, s.comm), ';')
		}
		for _, c := range slices.Backward(s.stack) {
			for i := range slices.Backward(c.frames) {
				f := &c.frames[i]
				if b = appendName(b, f.Name()); f.Kernel() {
					b = append(b, "_[k]"...)
				}
				b = append(b, ';')
			}
		}
		line := strings.TrimSuffix(string(b), ";")
		if _, ok := sums[line]; !ok {
			lines = append(lines, line)
		}
		sums[line] += s.values[p.shown]
	}
	return lines, sums
}

// appendName appends a name without what separates names.
func appendName(dst []byte, name string) []byte {
	return printable.Append(dst, strings.ReplaceAll(name, ";", ":"))
}
