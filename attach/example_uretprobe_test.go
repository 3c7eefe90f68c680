package attach_test

import (
	"fmt"
	"log"
	"os/exec"
	"strings"

	"github.com/go-usdt/usdt/attach"
)

// What a function of the C library returns, compared with what a program that
// calls it prints.
func ExampleOpen_uretprobe() {
	s, err := attach.Open("uretprobe:libc.so.6:getppid", &attach.Options{Where: `comm == "sh" && retval > 0`})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	shell := exec.Command("sh", "-c", "echo $PPID")
	printed, err := shell.Output()
	if err != nil {
		log.Fatal(err)
	}
	if err := s.Stop(); err != nil { // Events ends with what has fired until now
		log.Fatal(err)
	}
	for ev, err := range s.Events() {
		if err != nil {
			log.Fatal(err)
		}
		if ev.PID != shell.Process.Pid {
			continue
		}
		result := ev.Args[0]
		fmt.Println(ev.Name, result.Name, fmt.Sprint(result.Value) == strings.TrimSpace(string(printed)))
		break
	}
	// Output:
	// getppid retval true
}
