//go:build linux

package provider_test

import (
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/provider/providertest"
)

type (
	Base struct {
		ID   int
		Name string
	}
	Middle struct {
		Base
		Name int // hides Base's
	}
	Left  struct{ Same, OnlyLeft int }
	Right struct {
		Same  int
		Right int `usdt:"OnlyLeft"` // a tag's name counts before a field's
	}
	inner          struct{ Promoted, _ int }
	Code           uint8
	Generic[T any] struct{ Value T }
)

// TestNoBytes checks that a record whose fields have no bytes is one without arguments.
func TestNoBytes(t *testing.T) {
	p := newProvider("nobytes")
	r := provider.NewStructProbe[struct {
		A [0]byte
		B struct{}
	}](p, "r")
	load(t, p)
	rec := providertest.Record(t, p)
	r.Fire(new(struct {
		A [0]byte
		B struct{}
	}))
	if all := rec.Events("r"); len(all) != 1 || len(all[0].Args) != 0 {
		t.Errorf("events %v, want one without arguments", all)
	}
}

// TestPromoted checks which fields of embedded structs are fields of the record: the fields that
// package encoding/json has.
func TestPromoted(t *testing.T) {
	for _, test := range []struct {
		typ  reflect.Type
		want string
	}{
		{reflect.TypeFor[struct {
			Middle
			Last int
		}](), "[ID@0 Name@24 Last@32]"},
		{reflect.TypeFor[struct {
			Left
			Right
		}](), "[OnlyLeft@24]"},
		{reflect.TypeFor[struct {
			inner
			*Base
			Code
			Generic[int]
			time.Time
			atomic.Int64
		}](), "[Promoted@0 Base@16 Code@24 Value@32 Time@40 Int64@64]"},
		{reflect.TypeFor[struct {
			Base `usdt:"base"`
			Left `usdt:"-"`
			Name [2]struct{ Base }
			N    atomic.Int64
		}](), "[base@0 Name@40 N@88]"},
		{reflect.TypeFor[struct {
			Base
			Mu sync.Mutex
			A  struct{ a, b int }
		}](), "[ID@0 Name@8 __Name_len@16 Mu@24 A@32]"},
		{reflect.TypeFor[struct {
			Text  string `usdt:"text"`
			Bytes []byte `usdt:"bytes,"`
			Hex   int    `usdt:"hex"`
		}](), "[text@0 __text_len@8 bytes@16 __bytes_len@24 hex@40]"},
	} {
		s, err := provider.DescribeRecord(test.typ)
		if err != nil {
			t.Errorf("%v: %v", test.typ, err)
			continue
		}
		var got []string
		for _, m := range s.Members {
			got = append(got, fmt.Sprintf("%s@%d", m.Name, m.Offset.Bytes()))
		}
		if fmt.Sprint(got) != test.want {
			t.Errorf("%v: %v, want %s", test.typ, got, test.want)
		}
	}
}
