package remark

import (
	"fmt"
	"io"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/session"
	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/prototype"
)

// Unfired reports why probes may not have fired, if none has, as far as that is known of their
// programs.
func Unfired(stderr io.Writer, s session.Session, table *prototype.Table) {
	st, err := s.Stats()
	if err != nil || st.Fired+st.Missed > 0 || s.Via() == attach.ViaRecording {
		return
	}
	said := map[string]bool{}
	for _, site := range s.Plan() {
		probe := site.Probe.Provider + ":" + site.Probe.Name
		why := table.Silent(site.Probe.Provider, site.Probe.Name)
		if why != "" && !said[probe] {
			said[probe] = true
			fmt.Fprintf(stderr, "sdttrace: %s has not fired: %s\n", printable.String(probe), why)
		}
	}
}
