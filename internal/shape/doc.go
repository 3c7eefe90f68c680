// Package shape says what the bytes of a record mean: a [Shape] is the layout that
// [record] writes and, for each argument, where its value lies in that and how it
// is to be read. Package event decodes records by it.
//
// A source of events makes a Shape for each of its sites. Package attach makes its
// own, since BPF programs read registers, too. Whoever has a typed probe's argument
// block in memory needs two steps:
//
//	s, err := shape.OfBlock(probe.Type, 4096, nil)                  // once for each probe
//	rec = s.Layout.Capture(rec[:0], &header, slots, block, memory)  // for each firing
//
// where slots is empty or, if s.IPv4, the value that notes.IPv4Register names, and
// memory copies from the process that fired. An event.Decoder, which is given
// the shapes and probes by the site's number in the header, makes an event of it:
//
//	d := event.NewDecoder(func(site uint32) (*shape.Shape, *reader.Probe) { … }, wall)
//	ev, err := d.Decode(rec)
//
// Shapes do not change once they are made: any number of decoders may use one.
package shape
