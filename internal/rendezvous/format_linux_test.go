package rendezvous

import (
	"bytes"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/record"
)

// TestFormatExample checks that FORMAT.md shows the bytes of an offer and of a tracer's
// messages.
func TestFormatExample(t *testing.T) {
	doc, err := os.ReadFile("../../FORMAT.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := func(what string, b []byte) {
		if dump := hex.Dump(b); !strings.Contains(string(doc), "\n"+dump) {
			t.Errorf("FORMAT.md does not have these bytes of %s:\n%s", what, dump)
		}
	}
	secret := [secretSize]byte([]byte("sixteen bytes..."))
	o := offer{version: Version, socket: 7, secret: secret}
	shown("the offer", o.encode())
	h := hello{version: Version, secret: secret, size: 4 << 20}
	shown("the greeting", h.append(nil))

	l := &record.Layout{Block: 32, Limit: 1024, Strings: []record.String{{Sized: true, Pointer: 8, Length: 24}}}
	s := Site{
		Object: [16]byte(bytes.Repeat([]byte{0xb1}, 16)), Location: 0x1eb0, Number: 3, Layout: l, Sample: 1,
		Where: []Term{{Offset: 16, Size: 8, Kind: Signed, Op: GreaterEqual, Value: 500}},
	}
	watch := appendSite([]byte{msgWatch, 0, 0, 0, 1, 0, 0, 0}, &s)
	shown("the message that watches a site", watch)
	var got Site
	if rest := decodeSite(&got, watch[8:]); rest == nil || len(rest) > 0 || got.Number != 3 || got.Ranges[0].Low != 500 {
		t.Errorf("the example is read as %+v, with %d bytes behind it", got, len(rest))
	}
}
