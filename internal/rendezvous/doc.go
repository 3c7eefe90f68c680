// Package rendezvous is how a tracer without any privilege finds a process that offers
// its probes, how both check whom they talk to, and what they say. Events travel through package
// ring. FORMAT.md has the bytes: "Events in shared memory".
//
// A process offers its probes by [Listen]. A tracer finds it by [Connect]:
//
//	s, err := rendezvous.Connect(ctx, pid, nil)
//	refused, err := s.Watch(sites)
//	for more, err := s.Ring.Poll(false); …
//	err = s.Stop()      // nothing is recorded any more, and counts are final
//	err = s.Close()
//
// The kernel decides who may trace, by the check that /proc/PID/fd is subject to (man 2 ptrace,
// PTRACE_MODE_READ): the process keeps its socket, and the secret that a tracer must show, behind
// descriptors, which nobody else can open.
package rendezvous
