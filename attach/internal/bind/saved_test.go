package bind

import (
	"testing"

	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/internal/kernfunc"
)

// TestSaved checks that each word that a trampoline saves has a place.
func TestSaved(t *testing.T) {
	regs, err := operand.Saved()
	if err != nil {
		t.Fatal(err)
	}
	if len(regs.ByName) != kernfunc.MaxSaved+1 || operand.SavedResult != kernfunc.MaxSaved {
		t.Errorf("%d places for %d words of arguments and a result", len(regs.ByName), kernfunc.MaxSaved)
	}
}
