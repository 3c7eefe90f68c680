package symbols

import (
	"errors"
	"fmt"

	"github.com/go-usdt/usdt/internal/debugfile"
	"github.com/go-usdt/usdt/internal/safeelf"
	"github.com/go-usdt/usdt/symbols/internal/debuginfo"
)

// debugSymbols is an object's debugging information.
type debugSymbols struct {
	info *debuginfo.Info // nil if there is none
	elf  *safeelf.File   // the separate file that has it, nil if the object itself has
}

// readDebug reads the object's debugging information, its own or that of a separate
// file. Malformed parts name nothing.
func (o *object) readDebug() *debugSymbols {
	d := &debugSymbols{}
	file, path := o.elf, o.path
	var err error
	d.info, err = debuginfo.New(o.elf)
	if d.info == nil {
		if f := o.debugFile(); f != nil {
			o.keep(f.File)
			file, path, d.elf = f.ELF, f.Name(), f.ELF
			d.info, err = debuginfo.New(f.ELF)
		}
	}
	if err != nil {
		o.refuse(path, err)
	}
	if d.info != nil {
		if d.info.Split() {
			d.info.SetSplits(o.splits(path))
		}
		alt, err := debugfile.ByAltLink(file, path, o.resolver.debugDirs, o.trusted)
		if alt != nil {
			o.keep(alt.File)
			var info *debuginfo.Info
			if info, err = debuginfo.New(alt.ELF); info != nil {
				d.info.SetAlt(info)
				o.grow(info.Size())
			}
		}
		if err != nil {
			o.refuse(path, err)
		}
	}
	o.grow(d.info.Size())
	return d
}

// refuse notes why the debugging information in the file at path names nothing, or less.
func (o *object) refuse(path string, err error) {
	if !o.trusted && errors.Is(err, safeelf.ErrBudget) {
		err = fmt.Errorf("%w; a file may cost more that only root and you can write", err)
	}
	o.resolver.refuse(path, fmt.Errorf("%s: %w", o.resolver.lacks, err))
}

// debugFile opens the separate file with the object's debug symbols. The object's author chose
// its build-id and its .gnu_debuglink. So debugFile opens a separate file only for an object that
// only root and this user can change, and looks beside the object only if the user named it.
func (o *object) debugFile() *debugfile.File {
	if !o.trusted {
		return nil
	}
	for _, dir := range o.resolver.debugDirs {
		if d := debugfile.ByID(dir, o.buildID); d != nil {
			return d
		}
	}
	if o.named {
		for _, dir := range o.resolver.debugDirs {
			if d := debugfile.ByLink(o.elf, o.path, dir); d != nil {
				return d
			}
		}
	}
	return nil
}
