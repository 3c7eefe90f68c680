package recording

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// Part is a part of a recording: what fired from one time to another after its first event. All of it if
// both are 0.
type Part struct{ From, To time.Duration }

// Has reports whether the part has what fired so long after the first event.
func (p Part) Has(at time.Duration) bool { return p == Part{} || p.From <= at && at < p.To }

// Named is a recording, or a part of it, as FILE or FILE@FROM,TO names it.
type Named struct {
	File string
	Part
}

// Parse parses the name of a recording or of a part. A file whose name has an @ is whole.
func Parse(arg string) (Named, error) {
	file, part, ok := strings.Cut(arg, "@")
	if _, err := os.Stat(arg); err == nil || !ok {
		return Named{File: arg}, nil
	}
	from, to, _ := strings.Cut(part, ",")
	var p Part
	var errs [2]error
	p.From, errs[0] = time.ParseDuration(from)
	p.To, errs[1] = time.ParseDuration(to)
	if errors.Join(errs[:]...) != nil || p.From < 0 || p.To <= p.From {
		return Named{}, fmt.Errorf("%s: want FILE@FROM,TO, such as day.usdt@10s,20s, from the first event on", arg)
	}
	return Named{file, p}, nil
}
