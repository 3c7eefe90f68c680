package notes

import (
	"debug/elf"
	"testing"
)

// TestGrammarsComplete checks that every line of the table is complete and that its
// architecture is in testdata.
func TestGrammarsComplete(t *testing.T) {
	tested := map[*grammar]int{}
	for _, c := range grammarCases(t) {
		tested[grammarOf(c.machine)]++
	}
	known := 0
	for m, g := range grammars {
		if g == nil {
			continue
		}
		known++
		if g.parse == nil || g.append == nil || g.register == nil || g.next == nil || g.site == nil {
			t.Errorf("the grammar of %v lacks a part: %+v", elf.Machine(m), g)
		}
		if tested[g] < 10 {
			t.Errorf("testdata/args has %d operands of %v, want at least 10", tested[g], elf.Machine(m))
		}
	}
	if known != 10 || grammarOf(Machine(elf.EM_SPARC)) != nil || grammarOf(0xffff) != nil {
		t.Errorf("%d machines have a grammar, want 10, and neither SPARC nor 65535 one", known)
	}
}
