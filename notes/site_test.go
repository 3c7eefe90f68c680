package notes

import (
	"debug/elf"
	"encoding/binary"
	"testing"
)

func TestSiteKindOf(t *testing.T) {
	le, be := binary.ByteOrder(binary.LittleEndian), binary.ByteOrder(binary.BigEndian)
	for _, c := range []struct {
		machine Machine
		order   binary.ByteOrder
		code    string
		want    SiteKind
	}{
		{EM_X86_64, le, "\x90\xc3", SiteNop},
		{EM_X86_64, le, "\x0f\x1f\x44\x00\x00\xc3", SiteNop5},
		{EM_X86_64, le, "\x0f\x1f\x44\x00", SiteOther},
		{EM_X86_64, le, "\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00", SiteNop10},
		{EM_X86_64, le, "\x90\x0f\x1f\x44\x00\x00", SiteNopNop5},
		{EM_X86_64, le, "\x90\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00", SiteNopNop10},
		{EM_X86_64, le, "\xcc", SiteOther},
		{EM_X86_64, le, "", SiteOther},
		{EM_386, le, "\x90\x0f\x1f\x44\x00\x00", SiteNop},
		{EM_386, le, "\x0f\x1f\x44\x00\x00", SiteOther},
		{EM_AARCH64, le, "\x1f\x20\x03\xd5", SiteNop},
		{EM_AARCH64, be, "\x1f\x20\x03\xd5", SiteNop},
		{EM_AARCH64, le, "\x1f\x20\x03", SiteOther},
		{EM_ARM, le, "\xc0\x46\x00\x00", SiteNop},
		{EM_ARM, be, "\xe3\x20\xf0\x00", SiteNop},
		{EM_PPC64, be, "\x60\x00\x00\x00", SiteNop},
		{EM_PPC64, le, "\x60\x00\x00\x00", SiteOther},
		{EM_PPC, be, "\x60\x00\x00\x00", SiteNop},
		{EM_S390, be, "\x07\x00\x07\x00", SiteNop},
		{EM_RISCV, le, "\x01\x00", SiteNop},
		{EM_MIPS, be, "\x00\x00\x00\x00", SiteNop},
		{EM_LOONGARCH, le, "\x00\x00\x40\x03", SiteNop},
		{Machine(elf.EM_SPARC), be, "\x01\x00\x00\x00", SiteOther},
	} {
		if got := SiteKindOf(c.machine, c.order, []byte(c.code)); got != c.want {
			t.Errorf("%v %v % x: got %v, want %v", c.machine, c.order, c.code, got, c.want)
		}
	}
	for k := SiteNop; k <= SiteNopNop10; k++ {
		if got := SiteKindOf(EM_X86_64, le, k.AMD64()); got != k {
			t.Errorf("the code of %v is taken for %v", k, got)
		}
		if double := k == SiteNopNop5 || k == SiteNopNop10; k.Double() != double {
			t.Errorf("%v: Double is %v", k, k.Double())
		}
	}
	if code := SiteOther.AMD64(); code != nil {
		t.Errorf("SiteOther has the code % x", code)
	}
}
