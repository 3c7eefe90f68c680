package collection_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/go-usdt/usdt/attach/collection"
)

// FuzzLoadSpec damages an object and checks that loading it does not panic.
func FuzzLoadSpec(f *testing.F) {
	object, err := os.ReadFile(newestObject)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint32(0), []byte{}, uint32(0))
	f.Add(uint32(60), []byte{0xff, 0xff}, uint32(0)) // e_shnum
	f.Add(uint32(0), []byte{}, uint32(1))
	// In the type information: something else as a variable of .kconfig.
	if at := bytes.Index(object, []byte{0x9f, 0xeb, 1, 0}); at >= 0 {
		for off := range uint32(64) {
			f.Add(uint32(at)+8*off, []byte{0xff, 0xff}, uint32(0))
		}
	}
	f.Fuzz(func(t *testing.T, at uint32, with []byte, cut uint32) {
		b := bytes.Clone(object)
		if int(at) < len(b) {
			copy(b[at:], with)
		}
		b = b[:len(b)-min(int(cut), len(b))]
		spec, err := collection.LoadSpec(bytes.NewReader(b))
		if (spec == nil) == (err == nil) {
			t.Errorf("%v, error %v: want one of them", spec, err)
		}
	})
}
