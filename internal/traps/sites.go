package traps

import (
	"context"
	"debug/elf"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// around is how much of the code before and behind a site is read.
const around = 4096

// Sites measures what a hit costs its program beside the programs of BPF, at each kind of site
// that is attached to and that is wanted. It returns the shortest time and the longest.
func (t *Traps) Sites(ctx context.Context, plan attach.Plan, wanted func(*reader.Probe) bool) (least, most time.Duration, err error) {
	for i := range plan {
		s := &plan[i]
		if !Trapping(s) || !wanted(&s.Probe) {
			continue
		}
		d, err := t.Site(ctx, s)
		if err != nil {
			return 0, 0, err
		}
		if least == 0 || d < least {
			least = d
		}
		most = max(most, d)
	}
	return least, most, nil
}

// Trapping reports whether processes trap into the kernel at a site.
func Trapping(s *attach.Site) bool { return s.Attached && !s.Local && !s.Probe.Kind.InKernel() }

// Site is Of for a site.
func (t *Traps) Site(ctx context.Context, s *attach.Site) (time.Duration, error) {
	kind, code, at := codeAt(s)
	return t.Of(ctx, Trapped{
		Kind: kind, Instruction: code[at:], Return: Returns(s), Loop: s.Probe.Machine == elf.EM_X86_64 && loops(code, at),
	})
}

// Returns reports whether a site is hit when its function returns, by a trap of its own.
func Returns(s *attach.Site) bool { return s.Probe.Kind.IsReturn() && !s.Probe.AtRET }

// codeAt returns the kind of a site and its code. A typed probe says itself of which kind it is: its
// file, which may have no name, is gone with its process. The code of others is read from their files,
// where no breakpoint is; it is nil if it cannot be read. The site is at code[at].
func codeAt(s *attach.Site) (kind notes.SiteKind, code []byte, at int) {
	if t := s.Probe.Type; t != nil && s.Probe.Kind == reader.USDT {
		return t.Record.Site, nil, 0
	}
	f, err := procfs.OpenFile(s.Path)
	if err != nil {
		return notes.SiteOther, nil, 0
	}
	defer f.Close()
	at = int(min(s.Offset, around))
	code = make([]byte, at+around)
	n, _ := f.ReadAt(code, int64(s.Offset)-int64(at)) // less at the end of the file
	if n < at {
		return notes.SiteOther, nil, 0
	}
	code = code[:n]
	return notes.SiteKindOf(notes.Machine(s.Probe.Machine), s.Probe.ByteOrder, code[at:]), code, at
}
