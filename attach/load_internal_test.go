package attach

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/link"
	"github.com/go-usdt/usdt/attach/internal/load"
	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestLoadOthers loads the programs of two signatures. The verifier refuses one,
// which reads beyond its context; the other gets its program.
func TestLoadOthers(t *testing.T) {
	tr := &programs{tracing: &tracing{options: &settings{}}}
	var err error
	if tr.kind, err = link.Choose(link.Auto, false); err != nil {
		t.Fatal(err)
	}
	good := &query.Signature{Hook: hookOf(tr.kind), Layout: record.Layout{Slots: 1}, Operands: []operand.Operand{{Kind: operand.Const, Size: 8}}}
	bad := &query.Signature{Hook: hookOf(tr.kind), Layout: record.Layout{Slots: 1}, Operands: []operand.Operand{{Kind: operand.Register, Size: 8, Base: operand.Location{Off: 4096, Size: 8}}}}
	if tr.maps, err = load.NewMaps(os.Getpagesize(), 0, true); errors.Is(err, os.ErrPermission) {
		needs.Root(t)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	plan := make(site.Plan, 2)
	schemas := []*bind.Schema{{Sig: good}, {Sig: bad}}
	err = tr.load(context.Background(), &batch{plan: plan, schemas: schemas, signatures: []*query.Signature{good, bad}}, tr.maps)
	if err != nil || schemas[0] == nil || schemas[1] != nil || plan[1].Reason == nil {
		t.Errorf("left out %v and %v, %v", plan, schemas, err)
	}
	if !loaded(tr, good) || loaded(tr, bad) {
		t.Errorf("the good one is loaded: %t, the bad one: %t", loaded(tr, good), loaded(tr, bad))
	}
}

// loaded reports whether a signature has a program.
func loaded(p *programs, sig *query.Signature) bool {
	c, ok := p.loaded.Find(sig)
	return ok && c.Prog != nil
}
