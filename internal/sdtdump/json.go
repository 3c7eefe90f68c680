package sdtdump

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"strconv"

	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// The structs below define the JSON output. Keys that do not apply are absent.

type jsonProbe struct {
	Path            string         `json:"path"`
	Open            string         `json:"open,omitempty"`
	BuildID         string         `json:"build_id,omitempty"`
	PID             int            `json:"pid,omitempty"`
	Provider        string         `json:"provider"`
	Name            string         `json:"name"`
	Location        *uint64        `json:"location,omitempty"`
	Address         uint64         `json:"address,omitempty"`
	Base            uint64         `json:"base,omitempty"`
	Semaphore       uint64         `json:"semaphore,omitempty"`
	Offset          *uint64        `json:"offset,omitempty"`
	SemaphoreOffset uint64         `json:"semaphore_offset,omitempty"`
	SemaphoreValue  *uint16        `json:"semaphore_value,omitempty"`
	Args            *string        `json:"args,omitempty"`
	Arguments       []jsonArgument `json:"arguments,omitempty"`
	Function        *jsonFunction  `json:"function,omitempty"`
	Site            *jsonSite      `json:"site,omitempty"`
	Types           []jsonType     `json:"types,omitempty"`
}

type jsonArgument struct {
	// Name, Type and Unit are known from elsewhere than the object.
	Name   string      `json:"name,omitempty"`
	Type   string      `json:"type,omitempty"`
	Unit   string      `json:"unit,omitempty"`
	Text   string      `json:"text"`
	Size   int         `json:"size,omitempty"`
	Signed *bool       `json:"signed,omitempty"`
	Float  *bool       `json:"float,omitempty"`
	Kind   string      `json:"kind,omitempty"`
	Value  json.Number `json:"value,omitempty"`
	Reg    string      `json:"reg,omitempty"`
	// Pair, Segment, Extend and Reloc come from notes.Arg: without them a
	// value in two registers, or memory of a thread, would look like another.
	Pair    string `json:"pair,omitempty"`
	Segment string `json:"segment,omitempty"`
	Base    string `json:"base,omitempty"`
	Index   string `json:"index,omitempty"`
	Extend  string `json:"extend,omitempty"`
	Scale   int    `json:"scale,omitempty"`
	Disp    *int64 `json:"disp,omitempty"`
	Symbol  string `json:"symbol,omitempty"`
	Reloc   string `json:"reloc,omitempty"`
	Error   string `json:"error,omitempty"`
}

type jsonFunction struct {
	Name   string `json:"name"`
	Offset uint64 `json:"offset"`
}

type jsonSite struct {
	Bytes       string `json:"bytes"` // hexadecimal
	Insn        string `json:"insn,omitempty"`
	Kind        string `json:"kind"`
	Optimizable bool   `json:"optimizable"`
	State       string `json:"state,omitempty"`
}

type jsonType struct {
	Name   string `json:"name"`
	Type   string `json:"type"`
	Offset uint32 `json:"offset"`
	Size   uint32 `json:"size"`
	Signed bool   `json:"signed"`
}

type jsonPrinter struct {
	*options
	w    *bufio.Writer
	enc  *json.Encoder
	args []notes.Arg    // arguments of the current probe
	out  []jsonArgument // their JSON
}

func newJSON(w io.Writer, o *options) printer {
	b := bufio.NewWriterSize(w, 64<<10)
	enc := json.NewEncoder(printable.JSONWriter(b))
	enc.SetEscapeHTML(false)
	return &jsonPrinter{options: o, w: b, enc: enc}
}

func (j *jsonPrinter) flush() error { return j.w.Flush() }

func (j *jsonPrinter) probe(p *reader.Probe) error {
	out := jsonProbe{
		Path:            p.Path,
		Open:            p.OpenPath,
		BuildID:         p.BuildID,
		Provider:        p.Provider,
		Name:            p.Name,
		Base:            p.Base,
		Semaphore:       p.Semaphore,
		SemaphoreOffset: p.SemaphoreOffset,
	}
	if p.SiteErr != reader.ErrNoObject {
		out.Location, out.Args = &p.Location, &p.Args
		if !errors.Is(p.SiteErr, reader.ErrNotLoaded) {
			out.Offset = &p.Offset
		}
	}
	if p.Live != nil {
		out.PID, out.Address = p.Live.PID, p.Live.Address
		if p.Live.SemaphoreAddress != 0 {
			if v, err := p.SemaphoreValue(); err == nil {
				out.SemaphoreValue = &v
			}
		}
	}
	j.args, j.out = notes.AppendArgs(j.args[:0], notes.Machine(p.Machine), notes.Class(p.Class), p.Args), j.out[:0]
	for i := range j.args {
		j.out = append(j.out, argumentJSON(&j.args[i]))
	}
	known := j.prototypeOf(p, j.args)
	for i := range j.out {
		if a := param(known, i); a != nil {
			j.out[i].Name, j.out[i].Type, j.out[i].Unit = a.Name, a.Type, a.Unit
		}
	}
	out.Arguments = j.out
	if j.symbols {
		if name, offset, err := p.Function(); err == nil {
			out.Function = &jsonFunction{name, offset}
		}
	}
	if j.disasm {
		out.Site = siteJSON(p)
	}
	if p.Type != nil {
		for _, f := range p.Type.Fields {
			out.Types = append(out.Types, jsonType{f.Name, f.CType, f.Offset, f.Size, f.Kind == reader.Int})
		}
	}
	return j.enc.Encode(&out)
}

// siteJSON returns the code at p's site, nil if it cannot be read.
func siteJSON(p *reader.Probe) *jsonSite {
	s, err := p.Site()
	if len(s.Bytes) == 0 {
		return nil
	}
	out := &jsonSite{Bytes: hex.EncodeToString(s.Bytes), Kind: s.Kind.String(), Optimizable: s.Optimizable}
	if len(s.Insns) > 0 {
		out.Insn = s.Insns[0].Text
	}
	if err == nil && s.State != 0 {
		out.State = s.State.String()
	}
	return out
}

func argumentJSON(a *notes.Arg) jsonArgument {
	if a.Err != nil {
		return jsonArgument{Text: a.Text, Error: a.Err.Error()}
	}
	out := jsonArgument{
		Text:   a.Text,
		Size:   a.Size,
		Signed: &a.Signed,
		Float:  &a.Float,
		Kind:   a.Kind.String(),
		Symbol: a.Symbol,
		Reloc:  a.Reloc,
	}
	switch a.Kind {
	case notes.Imm:
		if a.Symbol == "" {
			out.Value = json.Number(appendImmediate(nil, a))
		} else {
			out.Disp = &a.Disp
		}
	case notes.Reg:
		out.Reg, out.Pair = a.Reg, a.Pair
	case notes.Mem:
		out.Segment, out.Base, out.Disp = a.Segment, a.Base, &a.Disp
		out.Index, out.Extend, out.Scale = a.Index, a.Extend, a.Scale
	}
	return out
}

// appendImmediate appends a constant as a number of its size and sign.
func appendImmediate(b []byte, a *notes.Arg) []byte {
	v := a.Widen(a.Value)
	if a.Signed {
		return strconv.AppendInt(b, int64(v), 10)
	}
	return strconv.AppendUint(b, v, 10)
}
