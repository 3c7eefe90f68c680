package serve

// Tree is the probes of the machine.
type Tree struct {
	Probes []TreeProbe
	Remark string // what could not be seen
	Attach bool   // whether a click attaches
}

// Probe names a probe.
type Probe struct{ Provider, Name string }

// TreeProbe is a probe and the processes that have it.
type TreeProbe struct {
	Probe
	Attached  bool // by the page
	Processes []Process
}

// Process is a process that has a probe, at one site.
type Process struct {
	PID     int
	Comm    string
	Path    string // of the file that has the probe
	Watched int    // how many tracers are counted; -1 if they are not
	State   string // of the site
	By      string // who watches it, as sdttrace list writes it
}
