package providertest_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/provider/providertest"
)

// The code under test: a service with a probe.
var (
	files = provider.New("files", nil)
	read  = provider.NewProbe3[string, int, provider.Text](files, "read_done", "path", "bytes", "err")
)

func readFile(path string) {
	data, err := os.ReadFile(path)
	read.Fire(path, len(data), provider.Error(err))
}

// This is the body of a function TestReadFile(t *testing.T).
func Example() {
	t, end := exampleTest()
	defer end()

	rec := providertest.Record(t, files)
	readFile("/no/such/file")
	for _, ev := range rec.Events("read_done") {
		fmt.Printf("%s:%s\n", ev.Provider, ev.Name)
		for _, a := range ev.Args {
			fmt.Printf("%s = %v\n", a.Name, a.Value)
		}
	}
	// Output:
	// files:read_done
	// path = /no/such/file
	// bytes = 0
	// err = open /no/such/file: no such file or directory
}

// A test can look at the events of each of its steps.
func ExampleRecorder_Reset() {
	t, end := exampleTest()
	defer end()

	rec := providertest.Record(t, files)
	readFile("/no/such/file")
	fmt.Println(len(rec.All()))
	rec.Reset()
	readFile("/no/such/file")
	readFile("/nor/this")
	fmt.Println(len(rec.All()))
	// Output:
	// 1
	// 2
}

// Tests that run in parallel see each other's events. Own returns only their own, also of
// goroutines that the test has started.
func ExampleRecorder_Own() {
	t, end := exampleTest()
	defer end()
	work := make(chan string)
	go func() { // another test
		for path := range work {
			readFile(path)
			work <- "done"
		}
	}()

	rec := providertest.Record(t, files)
	work <- "/of/another/test"
	<-work
	done := make(chan bool)
	go func() {
		readFile("/of/this/one")
		close(done)
	}()
	<-done
	for _, ev := range rec.Own("read_done") {
		fmt.Println(ev.Args[0].Value)
	}
	close(work)
	// Output: /of/this/one
}

// exampleTest returns a test for an example, which has none, and the function that
// ends the test.
func exampleTest() (t testing.TB, end func()) {
	f := new(failing)
	return f, f.end
}
