package list

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/look"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/output"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/recording"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/shell"
	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/selector"
)

// fileProbe is a line of the list of a file's probes.
type fileProbe struct {
	Provider  string           `json:"provider"`
	Name      string           `json:"name"`
	Path      string           `json:"path"`
	Location  uint64           `json:"location"`
	Offset    uint64           `json:"offset"`
	Args      string           `json:"args"`
	Arguments []listedArgument `json:"arguments,omitempty"`
	Reason    string           `json:"reason,omitempty"` // why it cannot be traced
}

// Selector parses a word that names no file: a provider alone stands for all its probes.
func Selector(word string) (selector.Selector, error) {
	if look.IsProvider(word) {
		word += ":*"
	}
	return selector.Parse(word)
}

// IsFile reports whether a word names a file instead of probes: it has no ':', but a '/', or a file
// of this name is there.
func IsFile(word string) bool {
	if strings.Contains(word, ":") {
		return false
	}
	info, err := procfs.Stat(word)
	return strings.Contains(word, "/") || err == nil && info.Mode().IsRegular()
}

// Files prints the probes of files, whether a process runs them or not.
func (l *List) Files(ctx context.Context, paths []string, asJSON bool, stdout io.Writer) error {
	var probes []fileProbe
	var without error // files that have none
	for _, path := range paths {
		if !strings.Contains(path, "/") {
			path = "./" + path
		}
		plan, err := attach.Find(ctx, []string{selector.QuotePath(path) + ":*:*"}, nil)
		switch {
		case err != nil && recording.Is(path):
			without = errors.Join(without, fmt.Errorf("%s is a recording: sdttrace count --by probe --from %s lists its probes", path, shell.Quote(path)))
		case errors.Is(err, attach.ErrNoMatch):
			without = errors.Join(without, fmt.Errorf("%s has no probes; its functions are listed by sdttrace list %s", path, selector.Shell("uprobe:"+path+":*")))
		case err != nil:
			without = errors.Join(without, err)
		}
		for i := range plan {
			p := &plan[i].Probe
			line := fileProbe{Provider: p.Provider, Name: p.Name, Path: p.Path, Location: p.Location, Offset: p.Offset, Args: p.Args}
			line.Arguments = l.arguments(p)
			if plan[i].Reason != nil {
				line.Reason = plan[i].Reason.Error()
			}
			probes = append(probes, line)
		}
	}
	if len(probes) == 0 {
		return without
	}
	if asJSON {
		if err := writeJSON(stdout, probes); err != nil {
			return output.Error(err)
		}
		return without
	}
	t := table{width: l.Width, columns: []column{{name: "PROBE", least: 20, end: true}, {name: "SITES"}, {name: "ARGUMENTS", below: true}, {name: "REFUSED", below: true}}}
	sites := map[[3]string]int{}
	line := func(p *fileProbe) [3]string {
		declared := (&Probe{Args: p.Args, Arguments: p.Arguments}).declared()
		return [3]string{printable.Name(p.Provider + ":" + p.Name), cmp.Or(declared, "-"), cmp.Or(printable.Name(p.Reason), "-")}
	}
	for i := range probes {
		sites[line(&probes[i])]++
	}
	for i := range probes {
		if l := line(&probes[i]); sites[l] > 0 {
			t.rows = append(t.rows, []string{l[0], fmt.Sprint(sites[l]), l[1], l[2]})
			sites[l] = 0
		}
	}
	if err := t.write(stdout); err != nil {
		return output.Error(err)
	}
	return without
}
