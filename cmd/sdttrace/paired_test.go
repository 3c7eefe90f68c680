package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/go-usdt/usdt/provider"
)

// truth is what the program paired says of a pair: who started it and how it ended, and how
// many nanoseconds it took, without the two calls of Fire and with them.
type truth struct {
	ID           uint64
	Path         string
	Code         int
	Inner, Outer int64
}

// paired declares the probes open, with id and path, and shut, with id and code, of the
// provider that PROVIDER names. For each line on its standard input it fires pairs that
// interleave, pairs within pairs, and one that takes 60 ms; then it prints the truth of each,
// in the order in which they end, as JSON on a line.
func paired() {
	p := provider.New(os.Getenv("PROVIDER"), nil)
	opened := provider.NewProbe2[uint64, string](p, "open", "id", "path")
	shut := provider.NewProbe2[uint64, int](p, "shut", "id", "code")
	if err := p.Load(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("ready")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var all []truth
		begin := func(id uint64, path string) (end func(code int)) {
			before := time.Now()
			opened.Fire(id, path)
			began := time.Now()
			return func(code int) {
				inner := time.Since(began)
				shut.Fire(id, code)
				all = append(all, truth{id, path, code, int64(inner), int64(time.Since(before))})
			}
		}
		first := begin(1, "/a")
		second := begin(2, "/b")
		first(200) // before what was begun later
		third := begin(3, "/a")
		second(500)
		third(200)
		begin(4, "/a")(404)
		// As a function that calls itself: of one id.
		outer := begin(5, "/outer")
		middle := begin(5, "/middle")
		begin(5, "/inner")(1)
		time.Sleep(5 * time.Millisecond)
		middle(2)
		outer(3)
		slow := begin(6, "/slow")
		time.Sleep(60 * time.Millisecond)
		slow(200)
		b, _ := json.Marshal(all)
		fmt.Println(string(b))
	}
}
