package reader

import (
	"fmt"

	"github.com/go-usdt/usdt/notes"
)

// decoder turns the notes of one file into probes. Sites of a program share few
// argument strings, so that each is decoded once.
type decoder struct {
	file  *File
	code  *File  // has the segments and instructions; file, most often
	types *types // nil without typed probes
	args  map[string][]notes.Arg
}

// maxArgs argument strings are remembered.
const maxArgs = 4096

// probe returns the probe of note n. The probe is right but for its types if
// there is an error.
func (d *decoder) probe(n notes.Note) (Probe, error) {
	f, code := d.file, d.code
	p := Probe{
		file:      f,
		Note:      n,
		Path:      f.path,
		BuildID:   f.buildID(),
		Machine:   f.elf.Machine,
		Class:     f.elf.Class,
		ByteOrder: f.elf.ByteOrder,
		Delta:     code.layout.delta(&n),
		Arguments: d.arguments(n.Args),
	}
	p.Offset, p.SiteErr = code.layout.site(n.Location + p.Delta)
	if n.Semaphore != 0 {
		p.SemaphoreOffset, p.SemaphoreErr = code.layout.semaphore(n.Semaphore + p.Delta)
	}
	if code != f {
		p.OpenPath = code.path
	}
	if d.types == nil {
		return p, nil
	}
	var err error
	if p.Type, err = d.types.of(&n); err != nil {
		err = fmt.Errorf("types of %s:%s: %w", n.Provider, n.Name, err)
	}
	return p, err
}

func (d *decoder) arguments(s string) []notes.Arg {
	if s == "" {
		return nil
	}
	args, ok := d.args[s]
	if ok {
		return args
	}
	args = notes.ParseArgs(d.file.elf.Machine, d.file.elf.Class, s)
	if d.args == nil {
		d.args = make(map[string][]notes.Arg)
	}
	if len(d.args) < maxArgs {
		d.args[s] = args
	}
	return args
}
