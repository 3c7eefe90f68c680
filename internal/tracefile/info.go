package tracefile

import "time"

// Info says where and how events were recorded.
type Info struct {
	Begun     time.Time `json:"begun"`
	Machine   string    `json:"machine"`           // as GOARCH has it
	Kernel    string    `json:"kernel,omitempty"`  // its release
	Writer    string    `json:"writer,omitempty"`  // the program that recorded, and its version
	Selectors []string  `json:"selectors"`         // what was traced
	Where     string    `json:"where,omitempty"`   // the condition of all events
	Sample    int       `json:"sample,omitempty"`  // one in so many events was recorded
	Command   []string  `json:"command,omitempty"` // the command that was run
}

// Counts are what became of events until the chunk that has them.
type Counts struct {
	Fired    uint64 `json:"fired"`
	Recorded uint64 `json:"recorded"`
	Lost     uint64 `json:"lost"`
	Filtered uint64 `json:"filtered"`
	Missed   uint64 `json:"missed"`
	Unread   uint64 `json:"unread"`

	Losses []Loss `json:"losses,omitempty"` // since the chunk before
}

// Loss is a time in which events were lost, in nanoseconds of the wall clock.
type Loss struct {
	From int64  `json:"from"`
	To   int64  `json:"to"`
	N    uint64 `json:"n"`             // 0 if events fired before the probes were attached to
	PID  int    `json:"pid,omitempty"` // of them; 0 for all
}
