package attach_test

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach"
)

// TestManySearches searches text at many sites, each with code of its own: more
// code than the verifier would accept in one program.
func TestManySearches(t *testing.T) {
	path := compileC(t, "spread", "gcc", "-O2")
	const sites = 70
	s := open(t, path+":spread:probe", &attach.Options{Where: "comm ~ '*pre*'"})
	if n := s.Plan().Attached(); n != sites {
		t.Errorf("attached to %d sites, want %d", n, sites)
	}
	if msg, err := exec.Command(path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, msg)
	}
	if n := len(drain(t, s)); n != sites {
		t.Errorf("%d events, want %d", n, sites)
	}
	checkSum(t, s)
}

// TestManyReads checks that whether one of many arguments in memory can be read
// does not depend on the others.
func TestManyReads(t *testing.T) {
	path := build(t, "functions.c", "gcc", "-O2")
	o := attach.Options{Where: "arg6 == 7"}
	for i := range 24 {
		o.Args = append(o.Args, fmt.Sprintf("arg%d", i+6))
	}
	p := start(t, exec.Command(path))
	o.Target.PIDs = []int{p.PID()}
	s := open(t, "uprobe:"+path+":sum8", &o)
	p.Do("go")
	if events := drain(t, s); len(events) != 1 || events[0].Args[0].Value != int64(7) {
		t.Errorf("events %+v, want one", events)
	}
}

// TestLongCondition checks that the error for a condition that is too long
// differs from other errors of the verifier.
func TestLongCondition(t *testing.T) {
	path := compile(t, "gcc", "-O2")
	var where []string
	for i := range 260 {
		where = append(where, fmt.Sprintf("comm ~ '*%d*b*c*d*e*f*g*h*'", i))
	}
	s, err := attach.Open(t.Context(), []string{path + ":args:ints"}, &attach.Options{Where: strings.Join(where, "||")})
	if err == nil {
		s.Close()
		t.Fatal("no error")
	}
	needPrivileges(t, err)
	var wrong *attach.WhereError
	if !errors.As(err, &wrong) || !strings.Contains(err.Error(), "too long") {
		t.Errorf("error %v, want a WhereError that says that the condition is too long", err)
	}
}
