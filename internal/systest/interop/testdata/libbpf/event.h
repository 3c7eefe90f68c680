// The BPF program sends this to the loader for each firing.
struct event {
	long cookie;    // which probe, by the loader's numbers
	long count;     // of arguments
	long args[12];
	long failed[12]; // libbpf's error for an argument
};
