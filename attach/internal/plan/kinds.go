package plan

import "github.com/go-usdt/usdt/reader"

// kind is a kind of site. Its checks run in order until one gives a reason to
// refuse the site; they also move the uprobe, and add notes.
type kind struct {
	name   string
	is     func(*reader.Probe) bool
	checks []func(*Planner, *site)
}

// kinds are the kinds of sites. A probe has the first kind that fits.
var kinds = []kind{
	{"USDT", isUSDT, []func(*Planner, *site){
		(*Planner).nops, (*Planner).opcode, (*Planner).sequences, (*Planner).marked, (*Planner).writable, (*Planner).semaphore, (*Planner).copies, (*Planner).sharedSite,
	}},
	{"return instruction", isRET, []func(*Planner, *site){
		(*Planner).resolver, (*Planner).opcode, (*Planner).sequences, (*Planner).writable, (*Planner).copies,
	}},
	{"function return", isReturn, []func(*Planner, *site){
		(*Planner).resolver, (*Planner).returnAddress, (*Planner).nops, (*Planner).opcode, (*Planner).sequences, (*Planner).writable, (*Planner).copies,
	}},
	{"function entry", isEntry, []func(*Planner, *site){
		(*Planner).resolver, (*Planner).stackCheck, (*Planner).restarted, (*Planner).nops, (*Planner).opcode, (*Planner).sequences, (*Planner).writable, (*Planner).copies,
	}},
	{"instruction", isFunction, []func(*Planner, *site){
		(*Planner).resolver, (*Planner).restarted, (*Planner).nops, (*Planner).opcode, (*Planner).sequences, (*Planner).writable, (*Planner).copies,
	}},
}

func isFunction(p *reader.Probe) bool { return p.Target != nil }
func isUSDT(p *reader.Probe) bool     { return !isFunction(p) }
func isRET(p *reader.Probe) bool      { return isReturn(p) && p.AtRET }
func isReturn(p *reader.Probe) bool   { return isFunction(p) && p.Kind.IsReturn() }
func isEntry(p *reader.Probe) bool    { return isFunction(p) && p.Displacement() == 0 }

// kindOf returns the kind of the probe's site.
func kindOf(p *reader.Probe) *kind {
	for i := range kinds {
		if kinds[i].is(p) {
			return &kinds[i]
		}
	}
	return &kind{} // any probe has or lacks a function
}
