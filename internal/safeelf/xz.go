package safeelf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/ulikunitz/xz/lzma"
)

// maxDictionaries is the largest sum in bytes of the dictionaries of one stream:
// the bytes of 16 blocks by xz without an option.
const maxDictionaries = 128 << 20

var (
	xzMagic = []byte("\xfd7zXZ\x00")
	errXZ   = errors.New("not an xz stream")
)

// xzChecks are the sizes of the check behind a block, by the stream's flag.
var xzChecks = [16]int64{0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64}

// unxz decompresses the xz stream in data, to at most limit bytes. A general reader
// gives each block the dictionary that it asks for, which may be gigabytes, again for
// each block; this one counts. It does not verify checksums, since the contents are
// not trusted either. The format is that of
// https://tukaani.org/xz/xz-file-format.txt, with LZMA2 as the only filter.
func unxz(data []byte, limit int64) ([]byte, error) {
	if len(data) < 12 || !bytes.HasPrefix(data, xzMagic) {
		return nil, errXZ
	}
	check := xzChecks[data[7]&0xf]
	r := bytes.NewReader(data[12:])
	var out bytes.Buffer
	dictionaries := int64(0)
	for {
		start := r.Size() - int64(r.Len())
		dict, end, err := xzBlock(r)
		if err != nil || end {
			return out.Bytes(), err
		}
		// Nothing is ever copied from further back than the start of the output.
		dict = min(dict, limit-int64(out.Len()))
		if dictionaries += dict; dictionaries > maxDictionaries {
			return nil, fmt.Errorf("the xz dictionaries have %d bytes, more than the %d that are allowed", dictionaries, maxDictionaries)
		}
		block, err := lzma.Reader2Config{DictCap: int(max(dict, lzma.MinDictCap))}.NewReader2(r)
		if err != nil {
			return nil, fmt.Errorf("xz block: %w", err)
		}
		n, err := io.Copy(&out, io.LimitReader(block, limit+1-int64(out.Len())))
		if err != nil {
			return nil, fmt.Errorf("xz block: %w", err)
		}
		if int64(out.Len()) > limit {
			return nil, fmt.Errorf("the xz stream grows to more than the %d bytes that are read", limit)
		}
		if n == 0 {
			return nil, fmt.Errorf("empty xz block: %w", errXZ)
		}
		size := r.Size() - int64(r.Len()) - start
		if _, err := r.Seek((-size&3)+check, io.SeekCurrent); err != nil {
			return nil, err
		}
	}
}

// xzBlock reads a block's header and returns the size of its dictionary. end reports
// that the index follows instead, behind the last block.
func xzBlock(r *bytes.Reader) (dict int64, end bool, err error) {
	size, err := r.ReadByte()
	if err != nil {
		return 0, false, io.ErrUnexpectedEOF
	}
	if size == 0 {
		return 0, true, nil
	}
	header := make([]byte, 4*int(size)+3)
	if _, err := io.ReadFull(r, header); err != nil {
		return 0, false, io.ErrUnexpectedEOF
	}
	flags, rest := header[0], bytes.NewReader(header[1:])
	for _, flag := range []byte{0x40, 0x80} { // the packed and the unpacked size
		if flags&flag != 0 {
			if _, err := binary.ReadUvarint(rest); err != nil {
				return 0, false, errXZ
			}
		}
	}
	var filter [3]byte // LZMA2's id, the length of its properties, the dictionary
	if _, err := io.ReadFull(rest, filter[:]); err != nil || flags&3 != 0 || filter[0] != 0x21 || filter[1] != 1 {
		return 0, false, errors.New("xz block with filters other than LZMA2")
	}
	bits := filter[2]
	switch {
	case bits > 40:
		return 0, false, errXZ
	case bits == 40:
		return 1<<32 - 1, false, nil
	}
	return int64(2|bits&1) << (bits/2 + 11), false, nil
}
