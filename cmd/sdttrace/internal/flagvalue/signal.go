package flagvalue

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
)

// Stop is the flag that stops processes.
type Stop struct {
	Times int  // 0 for none
	Leave bool // processes stay stopped
}

func (v *Stop) Set(s string) (err error) {
	number, leave := strings.CutPrefix(s, "leave")
	v.Leave = leave
	if leave && number == "" {
		number = ",1"
	}
	v.Times, err = times(strings.TrimPrefix(number, ","))
	if err != nil || leave != strings.HasPrefix(number, ",") {
		return fmt.Errorf("want how many stops, at most %d, leave, leave and a number (leave,3), or nothing", attach.MaxSignals)
	}
	return nil
}

func (v *Stop) String() string {
	switch {
	case v.Times == 0:
		return ""
	case v.Leave:
		return fmt.Sprintf("leave,%d", v.Times)
	}
	return strconv.Itoa(v.Times)
}

func (v *Stop) Type() string { return "stops" }

// Signal is the flag that sends processes a signal.
type Signal struct {
	Number syscall.Signal // 0 for none
	Times  int
}

func (v *Signal) Set(s string) (err error) {
	name, number, several := strings.Cut(s, ",")
	v.Times = 1
	if several {
		if v.Times, err = times(number); err != nil {
			return fmt.Errorf("want a number from 1 to %d behind the signal's name", attach.MaxSignals)
		}
	}
	name = "SIG" + strings.TrimPrefix(strings.ToUpper(name), "SIG")
	if v.Number = unix.SignalNum(name); v.Number == 0 {
		return errors.New("want the name of a signal, such as QUIT or USR1")
	}
	return nil
}

func (v *Signal) String() string {
	if v.Number == 0 {
		return ""
	}
	return fmt.Sprintf("%s,%d", strings.TrimPrefix(unix.SignalName(v.Number), "SIG"), v.Times)
}

func (v *Signal) Type() string { return "signal" }

// times returns how often a signal is sent.
func times(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err == nil && (n < 1 || n > attach.MaxSignals) {
		err = strconv.ErrRange
	}
	return n, err
}
