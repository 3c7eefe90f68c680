package attach_test

import (
	"reflect"
	"testing"

	"github.com/go-usdt/usdt/attach"
)

// TestStatsAdd checks that no counter is forgotten where the numbers of sessions are added up.
func TestStatsAdd(t *testing.T) {
	var sum, more attach.Stats
	for i := range reflect.TypeFor[attach.Stats]().NumField() {
		if reflect.TypeFor[attach.Stats]().Field(i).Name == "Lateness" {
			continue // the longest
		}
		reflect.ValueOf(&sum).Elem().Field(i).SetUint(uint64(i + 1))
		reflect.ValueOf(&more).Elem().Field(i).SetUint(100)
	}
	sum.Lateness, more.Lateness = 1, 2
	sum.Add(more)
	if sum.Lateness != 2 {
		t.Errorf("the longest lateness of 1 and 2 is %d", sum.Lateness)
	}
	for i := range reflect.TypeFor[attach.Stats]().NumField() {
		if reflect.TypeFor[attach.Stats]().Field(i).Name == "Lateness" {
			continue
		}
		if got, want := reflect.ValueOf(sum).Field(i).Uint(), uint64(101+i); got != want {
			t.Errorf("%s is %d, want %d", reflect.TypeFor[attach.Stats]().Field(i).Name, got, want)
		}
	}
}
