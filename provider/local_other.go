//go:build !linux || usdt_nolocal

package provider

import (
	"errors"
	"unsafe"
)

// Local tracers exist on Linux only, and not in programs that leave them out.

func (p *Provider) offer() error {
	return errors.New("Options.Local: this program was built without it (tag usdt_nolocal)")
}

func (p *Provider) withdraw() error { return nil }
func (p *Provider) endLocal()       {}
func (p *Provider) stopRecording()  {}

const recorderBit = 0

func (o *object) record(opts *Options) error {
	if opts.FlightRecorder != nil {
		return errors.New("Options.FlightRecorder: this program was built without it (tag usdt_nolocal)")
	}
	return nil
}

type watcher struct{}

func (p *probe) watchers() *watcher { return nil }

func (w *watcher) pass(*signature, []unsafe.Pointer)              {}
func (w *watcher) passRecord(*signature, unsafe.Pointer, uintptr) {}
