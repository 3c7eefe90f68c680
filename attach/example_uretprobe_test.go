package attach_test

import (
	"context"
	"fmt"
	"log"
	"os/exec"
	"strings"

	"github.com/go-usdt/usdt/attach"
)

// A uretprobe delivers what a function of a C program returns. The program prints
// the same.
func ExampleOpen_uretprobe() {
	path, remove := factorials() // a program that prints 5!, among other numbers
	defer remove()

	s, err := attach.Open(context.Background(), []string{"uretprobe:" + path + ":factorial"}, &attach.Options{Where: "retval > 10"})
	if err != nil {
		log.Print(err)
		return
	}
	defer s.Close()
	program := exec.Command(path)
	program.Stdin = strings.NewReader("\n")
	printed, err := program.Output()
	if err != nil {
		log.Print(err)
		return
	}
	if err := s.Stop(); err != nil { // Events ends with what has fired until now
		log.Print(err)
		return
	}
	for ev, err := range s.Events() {
		if err != nil {
			log.Print(err)
			return
		}
		result := ev.Args[0]
		fmt.Println(ev.Name, result.Name, result.Value)
	}
	fmt.Println("printed:", strings.Fields(string(printed))[3])
	// Output:
	// factorial retval 24
	// factorial retval 120
	// printed: 120
}
