package notes

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// ErrTypesVersion is wrapped by the error for a .stapsdt.types section of a version
// that this package does not know. Its probes can still be read as plain notes.
var ErrTypesVersion = errors.New("unknown .stapsdt.types version")

const (
	typesMagic      = "sdttypes"
	typesVersion    = 1
	typesHeaderSize = 32
	typesRecordSize = 40
)

// NoBlock is the [TypeRecord.BlockReg] of a probe that has no argument block.
const NoBlock = 0xff

// Limits on what tracers read of an argument block. A probe that exceeds them cannot
// be traced, or only without its types.
const (
	// MaxBlockSize is the size in bytes of the largest argument block. Twice that
	// size, and what a condition reads, must fit into the 32 KiB that a BPF program
	// may have for an event (include/linux/percpu.h: PCPU_MIN_UNIT_SIZE).
	MaxBlockSize = 15 << 10
	// MaxFields is the largest number of fields, including the fields of structs. The
	// elements of an array count as one.
	MaxFields = 4096
	// MaxNesting is the largest depth of structs and arrays within each other.
	MaxNesting = 16
	// MaxString is the number of bytes that tracers read of a string argument at most,
	// and that a provider therefore copies.
	MaxString = 8 << 10
)

// Names of typedefs that say what a value means. Readers that do not know a name see
// the type behind it.
const (
	// DurationType is a signed number of nanoseconds (64 bits).
	DurationType = "usdt_duration_ns"
	// TimeType is a signed number of nanoseconds since 1970 in UTC (64 bits). Special
	// values are ZeroTime for Go's zero time, and MinTime and MaxTime for times that
	// do not fit.
	TimeType = "usdt_time_ns"
	// AddrType is a pointer to the bytes of an IP address in network order. Their
	// number is 4, 16, or 0 for no address.
	AddrType = "usdt_ip_addr"
	// HexType is a pointer to bytes that are an identifier, shown as hexadecimal digits.
	// Arrays of unsigned char are identifiers even if the type has no name.
	HexType = "usdt_hex"
	// BytesType is an array of unsigned char that is not an identifier.
	BytesType = "usdt_bytes"
	// NetIPType is a pointer to the bytes of an IP address, like AddrType. An IPv4
	// address may be mapped to 16 bytes (::ffff:10.0.0.1).
	NetIPType = "usdt_net_ip"
	// GoTimeType is a time.Time as it lies in memory: three words of 64 bits, which
	// FORMAT.md explains.
	GoTimeType = "usdt_go_time"
	// GoAddrType is a netip.Addr as it lies in memory: three words of 64 bits; see
	// [IPv4Register].
	GoAddrType = "usdt_go_addr"
)

// GoWords is the size in bytes of GoTimeType and GoAddrType.
const GoWords = 24

// Values of [TimeType] that are not a number of nanoseconds.
const (
	ZeroTime = -1 << 63   // the year 1
	MinTime  = -1<<63 + 1 // 1677-09-21 or before
	MaxTime  = 1<<63 - 1  // 2262-04-11 or later
)

// TypeFlags are properties of a probe in .stapsdt.types.
type TypeFlags uint16

// CalledStub says that the site is the first instruction of a leaf function that does
// nothing but return. No data lives below the stack pointer there, so that a kernel
// may replace the site by a call without harm.
const CalledStub TypeFlags = 1 << 0

// GoroutineRegister says that at the site, the register in which Go keeps the
// goroutine (r14 on amd64, x28 on arm64) holds its address. The address identifies a
// goroutine of a process as long as the goroutine lives.
const GoroutineRegister TypeFlags = 1 << 1

// IPv4Register says that at the site, the register of the first integer argument (rdi
// on amd64, x0 on arm64) holds the third word of every GoAddrType that is an IPv4
// address.
const IPv4Register TypeFlags = 1 << 2

// TypeRecord describes one typed probe.
type TypeRecord struct {
	Provider, Name string

	Location  uint64 // as in the probe's Note
	Semaphore uint64 // as in the probe's Note

	// Type is the id, in the object's .BTF section, of the struct that
	// describes the argument block; 0 if the probe has no arguments.
	Type uint32
	// BlockSize is the size of the argument block in bytes.
	BlockSize uint32
	// BlockReg is the DWARF number of the register from which the block is found at
	// the site, or NoBlock.
	BlockReg uint8
	// BlockOffset plus the register's value is the block's address.
	BlockOffset int32

	Flags TypeFlags
	Site  SiteKind
}

// byLocation returns records in the order of their locations. It sorts pointers,
// because an instance of package slices' functions for the large records would add 15
// kB to each service that declares probes.
func byLocation(records []TypeRecord) []*TypeRecord {
	list, sorted := make([]*TypeRecord, len(records)), true
	for i := range records {
		list[i] = &records[i]
		sorted = sorted && (i == 0 || records[i-1].Location <= records[i].Location)
	}
	if !sorted { // a provider's are
		mergeByLocation(list, slices.Clone(list))
	}
	return list
}

// mergeByLocation sorts list and keeps the order of equal locations. other is a copy of
// list, whose contents are lost. slices.SortStableFunc would add three times as much to
// a service.
func mergeByLocation(list, other []*TypeRecord) {
	if len(list) < 2 {
		return
	}
	half := len(list) / 2
	a, b := other[:half], other[half:]
	mergeByLocation(a, list[:half])
	mergeByLocation(b, list[half:])
	for i := range list {
		if len(b) == 0 || len(a) > 0 && a[0].Location <= b[0].Location {
			list[i], a = a[0], a[1:]
		} else {
			list[i], b = b[0], b[1:]
		}
	}
}

// AppendTypes appends a .stapsdt.types section that holds records to dst, by location,
// as the format requires. The strings must hold no NUL byte.
func AppendTypes(dst []byte, order binary.AppendByteOrder, records []TypeRecord) []byte {
	strtab := stringTable{offsets: map[string]uint32{}}
	dst = slices.Grow(dst, typesHeaderSize+typesRecordSize*len(records))
	start := len(dst)
	dst = append(dst, make([]byte, typesHeaderSize)...)
	for _, r := range byLocation(records) {
		dst = order.AppendUint64(dst, r.Location)
		dst = order.AppendUint64(dst, r.Semaphore)
		dst = order.AppendUint32(dst, strtab.shared(r.Provider))
		dst = order.AppendUint32(dst, strtab.add(r.Name))
		dst = order.AppendUint32(dst, r.Type)
		dst = order.AppendUint32(dst, r.BlockSize)
		dst = order.AppendUint16(dst, uint16(r.Flags))
		dst = append(dst, byte(r.Site), r.BlockReg)
		dst = order.AppendUint32(dst, uint32(r.BlockOffset))
	}
	h := append(dst[:start:start], typesMagic...)
	h = order.AppendUint16(h, typesVersion)
	h = order.AppendUint16(h, typesHeaderSize)
	h = order.AppendUint16(h, typesRecordSize)
	h = order.AppendUint16(h, 0) // flags
	h = order.AppendUint32(h, uint32(len(records)))
	h = order.AppendUint32(h, uint32(len(dst)-start))
	h = order.AppendUint32(h, uint32(strtab.buf.Len()))
	h = order.AppendUint32(h, 0) // reserved
	copy(dst[start:], h[start:])
	return append(dst, strtab.buf.String()...)
}

// TypesSize returns the number of bytes that AppendTypes adds for records.
func TypesSize(records []TypeRecord) int {
	size := typesHeaderSize + typesRecordSize*len(records)
	providers := map[string]bool{}
	for i := range records {
		r := &records[i]
		size += len(r.Name) + 1
		if !providers[r.Provider] {
			providers[r.Provider] = true
			size += len(r.Provider) + 1
		}
	}
	return size
}

type stringTable struct {
	buf     strings.Builder
	offsets map[string]uint32
}

func (t *stringTable) add(s string) uint32 {
	off := uint32(t.buf.Len())
	t.buf.WriteString(s)
	t.buf.WriteByte(0)
	return off
}

// shared is like add, for strings that recur.
func (t *stringTable) shared(s string) uint32 {
	off, ok := t.offsets[s]
	if !ok {
		off = t.add(s)
		t.offsets[s] = off
	}
	return off
}

// Types is a .stapsdt.types section whose header has been decoded. Records are
// decoded on demand.
type Types struct {
	order   binary.ByteOrder
	records []byte // count × size
	size    int    // bytes from one record to the next
	strings []byte
}

// ParseTypes checks the header of a .stapsdt.types section. The result refers to
// data, which must not change.
func ParseTypes(data []byte, order binary.ByteOrder) (*Types, error) {
	if len(data) < typesHeaderSize {
		return nil, fmt.Errorf("%s header: %w", TypesSectionName, ErrTruncated)
	}
	if string(data[:8]) != typesMagic {
		return nil, fmt.Errorf("%s begins with % x, not with its magic number", TypesSectionName, data[:8])
	}
	if v := order.Uint16(data[8:]); v != typesVersion {
		return nil, fmt.Errorf("%w: %d", ErrTypesVersion, v)
	}
	header, size := uint64(order.Uint16(data[10:])), uint64(order.Uint16(data[12:]))
	count := uint64(order.Uint32(data[16:]))
	stroff, strsz := uint64(order.Uint32(data[20:])), uint64(order.Uint32(data[24:]))
	if header < typesHeaderSize || size < typesRecordSize {
		return nil, fmt.Errorf("%s has a header of %d and records of %d bytes: %w", TypesSectionName, header, size, ErrTruncated)
	}
	if header+count*size > uint64(len(data)) || stroff+strsz > uint64(len(data)) {
		return nil, fmt.Errorf("%s names %d records and %d bytes of strings in %d bytes: %w", TypesSectionName, count, strsz, len(data), ErrTruncated)
	}
	return &Types{
		order:   order,
		records: data[header : header+count*size],
		size:    int(size),
		strings: data[stroff : stroff+strsz],
	}, nil
}

// Len returns the number of records.
func (t *Types) Len() int { return len(t.records) / t.size }

// All returns the records by ascending location.
func (t *Types) All() iter.Seq2[TypeRecord, error] {
	return func(yield func(TypeRecord, error) bool) {
		for i := range t.Len() {
			if !yield(t.at(i)) {
				return
			}
		}
	}
}

// Lookup returns the record of the probe at location; ok is false if there is
// none.
func (t *Types) Lookup(location uint64) (r TypeRecord, ok bool, err error) {
	i, ok := t.find(location)
	if !ok {
		return TypeRecord{}, false, nil
	}
	r, err = t.at(i)
	return r, err == nil, err
}

// Of stores the record of note n's probe in r, which then shares the note's strings.
// ok is false if the probe has no record: one at the same location with another
// provider or name belongs to another probe.
func (t *Types) Of(n *Note, r *TypeRecord) (ok bool, err error) {
	i, ok := t.find(n.Location)
	if !ok {
		return false, nil
	}
	b := t.records[i*t.size:]
	if !t.holds(t.order.Uint32(b[16:]), n.Provider) || !t.holds(t.order.Uint32(b[20:]), n.Name) {
		_, _, err = t.names(i)
		return false, err
	}
	t.record(r, i)
	r.Provider, r.Name = n.Provider, n.Name
	return true, nil
}

// holds reports whether s is the string at off.
func (t *Types) holds(off uint32, s string) bool {
	end := uint64(off) + uint64(len(s))
	return end < uint64(len(t.strings)) && len(s) <= maxTypesString && string(t.strings[off:end]) == s && t.strings[end] == 0
}

// find returns the number of the record at location. Stubs mostly lie at equal
// distances, so it looks at the place that follows from that before it searches.
func (t *Types) find(location uint64) (i int, ok bool) {
	n := t.Len()
	if n == 0 {
		return 0, false
	}
	first, last := t.location(0), t.location(n-1)
	if location < first || location > last {
		return 0, false
	}
	if guess := int(float64(location-first)/float64(max(last-first, 1))*float64(n-1) + 0.5); guess < n && t.location(guess) == location {
		return guess, true
	}
	lo, hi := 0, n
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if t.location(mid) < location {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo, lo < n && t.location(lo) == location
}

func (t *Types) location(i int) uint64 { return t.order.Uint64(t.records[i*t.size:]) }

func (t *Types) at(i int) (TypeRecord, error) {
	var r TypeRecord
	t.record(&r, i)
	provider, name, err := t.names(i)
	r.Provider, r.Name = string(provider), string(name)
	return r, err
}

// record decodes record i into r, except for its strings.
func (t *Types) record(r *TypeRecord, i int) {
	b := t.records[i*t.size:]
	r.Location, r.Semaphore = t.order.Uint64(b), t.order.Uint64(b[8:])
	r.Type, r.BlockSize = t.order.Uint32(b[24:]), t.order.Uint32(b[28:])
	r.Flags, r.Site = TypeFlags(t.order.Uint16(b[32:])), SiteKind(b[34])
	r.BlockReg, r.BlockOffset = b[35], int32(t.order.Uint32(b[36:]))
}

// names returns the strings of record i.
func (t *Types) names(i int) (provider, name []byte, err error) {
	b := t.records[i*t.size:]
	if provider, err = t.string(t.order.Uint32(b[16:])); err == nil {
		name, err = t.string(t.order.Uint32(b[20:]))
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s record %d: %w", TypesSectionName, i, err)
	}
	return provider, name, nil
}

// maxTypesString bounds a name's length. Records may share their strings, so that
// without a bound a small section could name gigabytes.
const maxTypesString = 4096

func (t *Types) string(off uint32) ([]byte, error) {
	if uint64(off) >= uint64(len(t.strings)) {
		return nil, fmt.Errorf("string offset %#x: %w", off, ErrTruncated)
	}
	s := t.strings[off:]
	i := bytes.IndexByte(s[:min(len(s), maxTypesString+1)], 0)
	switch {
	case i >= 0:
		return s[:i], nil
	case len(s) > maxTypesString:
		return nil, fmt.Errorf("string at %#x is longer than %d bytes", off, maxTypesString)
	}
	return nil, fmt.Errorf("string at %#x is not terminated: %w", off, ErrTruncated)
}
