// Package record defines the format of an event's bytes, which one side writes where
// a probe fires and the other decodes. All numbers are in the host's byte order.
//
//	header     40 bytes  which site fired, when, and in which thread
//	slots      8 each    a value each, or a pointer to a string
//	failures   8         which reads failed; only with a block, otherwise in the header
//	block                the argument block of a typed probe, padded to 8
//	indirects            what its pointers lead to, each padded to 8
//	strings              strings, bytes and elements, one after the other
//	stack                the calls that led to the probe, see [Stack]
//
// All sections but the strings and the stack form the fixed part. A [Layout] says where the
// sections lie; the fixed part holds the lengths of the strings. Every slot, the
// block, every indirect and every string is a read, in this order. Bit i of the
// failures is set if read i failed.
package record
