package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tool"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// TestRun asks both services of examples/shop for each item, and compares with what the customer has
// waited.
func TestRun(t *testing.T) {
	tracee.Alone(t, "front")
	stock, front := address(t), address(t)
	tracee.StartVictim(t, exec.Command(needs.Build(t, "examples/shop/stock"), stock))
	tracee.StartVictim(t, exec.Command(needs.Build(t, "examples/shop/front"), front, "http://"+stock))
	for _, service := range []string{stock, front} {
		for { // until it answers
			if answer, err := http.Get("http://" + service + "/item/lamp"); err == nil {
				answer.Body.Close()
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
	running := tool.Start(t, run)
	for i, item := range []string{"clock", "lamp", "sofa", "clock"} {
		begun := time.Now()
		ask, err := http.NewRequest(http.MethodGet, "http://"+front+"/item/"+item, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("%d-%d", os.Getpid(), i)
		ask.Header.Set("X-Request-Id", want)
		answer, err := http.DefaultClient.Do(ask)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		waited := time.Since(begun)
		var id, path, took, stocks string
		for id != want { // other shops of this machine have others
			if _, err := fmt.Sscanf(running.Line(), "%s %s %s stock %s", &id, &path, &took, &stocks); err != nil {
				t.Fatal(err)
			}
		}
		whole, err := time.ParseDuration(took)
		part, partErr := time.ParseDuration(stocks)
		if err != nil || partErr != nil || path != "/item/"+item || part <= 0 || part > whole || whole > waited {
			t.Errorf("%s %s took %v, %v of it in the stock; the customer waited %v", id, path, whole, part, waited)
		}
		if item == "clock" && part < 20*time.Millisecond {
			t.Errorf("a shelf far away took %v", part)
		}
	}
	running.End()
}

// address returns a free address. Its host is this process's own, so that nobody gets the port meanwhile.
func address(t *testing.T) string {
	pid := os.Getpid()
	l, err := net.Listen("tcp", fmt.Sprintf("127.%d.%d.%d:0", 1+pid>>16, pid>>8&0xff, pid&0xff))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
