package remark

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/session"
	"github.com/go-usdt/usdt/internal/printable"
)

// Closing reports on perf events that the kernel is slow to remove: the process
// cannot end before they are gone.
func Closing(s session.Session, stderr io.Writer) {
	all := s.Pending()
	for all > 0 {
		wait, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		err := s.Wait(wait)
		cancel()
		if err == nil {
			return
		}
		fmt.Fprintf(stderr, "sdttrace: the kernel is removing perf events: %d of %d left\n", s.Pending(), all)
	}
}

// Summary reports what became of the events. where is the condition that the user has given, if any.
func Summary(stderr io.Writer, s session.Session, where string) error {
	st, err := s.Stats()
	if err != nil {
		return err
	}
	if st.Missed > 0 {
		fmt.Fprintf(stderr, "sdttrace: %s\n", missed(s, st.Missed))
	}
	for _, err := range s.Refused() {
		fmt.Fprintf(stderr, "sdttrace: %s\n", printable.String(err.Error()))
	}
	if st.Untold > 0 && st.Ended > 0 {
		fmt.Fprintf(stderr, "sdttrace: %s the kernel dropped what a process mapped: stacks of %d that had ended may have wrong names or none\n", printable.Many(st.Untold, "time", "times"), st.Ended)
	}
	if st.Silent > 0 {
		fmt.Fprintf(stderr, "sdttrace: %s began before their semaphores were raised, and may have left out events at first\n", printable.Many(st.Silent, "process", "processes"))
	}
	more := ""
	if st.Missed > 0 {
		more = fmt.Sprintf(", %d missed", st.Missed)
	}
	if st.Unread > 0 {
		more += fmt.Sprintf(", %d unread", st.Unread)
	}
	p := s.Plan()
	attached := fmt.Sprintf("attached %d of %s", p.Attached(), printable.Many(len(p), "site", "sites"))
	if gone := int(st.Found) - len(p); gone > 0 {
		attached += fmt.Sprintf("; %s gone", printable.Many(gone, "other is", "others are"))
	}
	if s.Via() == attach.ViaRecording {
		attached = "of " + printable.Many(len(p), "probe", "probes")
	}
	paired, err := pairs(stderr, s, where)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stderr, "sdttrace: %s%s, %d lost, %d filtered%s; %s\n", paired, printable.Many(st.Received, "event", "events"), st.Lost, st.Filtered, more, attached)
	return err
}

// Details writes all numbers of the summary.
func Details(stderr io.Writer, s session.Session) error {
	st, err := s.Stats()
	if err != nil {
		return err
	}
	stacks := ""
	if st.Ended > 0 || st.Untold > 0 {
		stacks = fmt.Sprintf("; %s had ended when a stack was named, %s untold", printable.Many(st.Ended, "process", "processes"), printable.Many(st.Untold, "mapping", "mappings"))
	}
	_, err = fmt.Fprintf(stderr, "sdttrace: %d fired: %d received, %d lost (%d for want of room, %d for too many goroutines at once), %d filtered (%d without a partner), %d missed, %d unread%s\n",
		st.Fired, st.Received, st.Lost, st.Full, st.Contended, st.Filtered, st.Unmatched, st.Missed, st.Unread, stacks)
	return err
}
