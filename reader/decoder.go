package reader

import (
	"fmt"

	"github.com/go-usdt/usdt/notes"
)

// decoder makes probes of the notes of one file, one after the other.
type decoder struct {
	code  *File // has the segments and instructions; mostly the file itself
	types typer
	probe Probe // of the note decoded last; what all probes of the file share stays
}

func newDecoder(f *File, types *types) *decoder {
	d := &decoder{code: f.code(), types: typer{types: types, most: f.elf.Allowance()}, probe: Probe{
		file: f, Path: f.path, BuildID: f.buildID(),
		Machine: f.elf.Machine, Class: f.elf.Class, ByteOrder: f.elf.ByteOrder,
	}}
	if d.code != f {
		d.probe.OpenPath = d.code.path
	}
	return d
}

// decode sets d.probe to that of note n. With an error, the probe is right except for
// its types.
func (d *decoder) decode(n *notes.Note) error {
	p, layout := &d.probe, &d.code.layout
	p.Note, p.Delta = *n, layout.delta(n)
	p.Offset, p.SiteErr = layout.site(n.Location + p.Delta)
	p.SemaphoreOffset, p.SemaphoreErr = 0, nil
	if n.Semaphore != 0 {
		p.SemaphoreOffset, p.SemaphoreErr = layout.semaphore(n.Semaphore + p.Delta)
		if p.SemaphoreErr == nil {
			p.SemaphoreErr = layout.counts(p)
		}
	}
	var err error
	if p.Type, err = d.types.of(n); err != nil {
		return fmt.Errorf("types of %s:%s: %w", n.Provider, n.Name, err)
	}
	return nil
}
