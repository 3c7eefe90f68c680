// Package shape describes what the bytes of a record mean. A [Shape] has the layout
// that [record] writes and, for each argument, the place of its value in that layout
// and how to read it. Package event decodes records by it.
//
// A source of events makes a Shape for each of its sites. Package attach makes its
// own, since BPF programs also read registers. A source that has a typed probe's argument block
// in memory needs two steps:
//
//	s, err := shape.OfBlock(probe.Type, 4096, nil)                  // once for each probe
//	rec = s.Layout.Capture(rec[:0], &header, slots, block, memory)  // for each firing
//
// slots is empty or, if s.IPv4, has the value that notes.IPv4Register names, and
// memory copies from the process that fired. A decode.Decoder finds the shape and the
// probe by the site's number in the header, and makes an event of the record:
//
//	d := decode.NewDecoder(func(site uint32) (*shape.Shape, *reader.Probe) { … }, wall)
//	ev, err := d.Decode(rec)
//
// Shapes do not change once they are made: any number of decoders may use one.
package shape
