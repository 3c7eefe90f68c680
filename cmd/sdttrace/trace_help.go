package main

const traceExample = `  sdttrace -p 4711 'myapp:request_*'           the probes of a process
  sdttrace --json --limit 5 'python:gc__*'     five events from any python, as JSON
  sdttrace /usr/lib/libfoo.so:foo:open         a library, in all processes, also later ones
  sdttrace --where 'status >= 500 && path ~ "/api/*"' myapp:request_done   filtered by the kernel
  sdttrace --hist ms --by path --interval 10s myapp:request_done   aggregated by the kernel
  sdttrace --count --by 'status/100,path[:8]' myapp:request_done   by what the kernel computes of arguments
  sdttrace --latency myapp:request_start,myapp:request_done --key id --by path   from one to the other
  sdttrace --avg ms --quantiles 50,99 --by path --sort p99 --top 10 --interval 1s myapp:request_done   the slowest, live
  sdttrace --where 'query ~ "UPDATE*"' postgresql:query__start   known by name
  sdttrace --latency postgresql:query__start,postgresql:query__done --slower 50ms   which statements took longer
  sdttrace --fields time,tid,query postgresql:query__start   these parts of each event only
  sdttrace --str arg0 -p 99 mine:request       arg0 is a pointer to a string
  sdttrace --wait 'myapp:*'                    a service that has not been started yet
  sdttrace 'python:*' -- python3 script.py     a command, from its start to its end
  sdttrace --args arg0,arg1 'uprobe:./srv:http::Server::*'   functions of C++, Rust, Go or C
  sdttrace --hist retval uretprobe:libc.so.6:read            what a function returns
  sdttrace 'uprobe:/usr/lib/*/libssl.so*:SSL_read' uprobe:./srv:handle+0x1f   in several files; an instruction
  sdttrace --latency uprobe:./srv:handle,uretprobe:./srv:handle   how long a function takes
  sdttrace --perfetto shop.pftrace --span front:request_start,front:request_done --flow request 'stock:*'   a timeline
  sdttrace list 'hotspot:*'                    which probes there are, and who watches them
  sdttrace --html page.html --stack --duration 10s 'myapp:*'   as a page, with a flame graph
  sdttrace --user -p 4711 'myapp:*'            without privileges: a Go service of the same user`

const traceHelp = `sdttrace attaches to USDT probes and prints an event each time one fires.

PROBE is [PATH:]PROVIDER:NAME; '*', '?' and [...] stand for any characters in
each part. Without -p and CMD, probes are traced in all processes, also those
that start later; a PATH with a '/', or the files that it names by '*', need not
be running yet. --rescan finds probes that appear while sdttrace runs, except in
programs that end before the next rescan: name these by a PATH or --exe. With
--wait sdttrace may start before any probe matches, and a PATH need not exist.
--comm and --exe wait for processes, too, and the kernel selects events by them.
The FILE of --exe, with the libraries that it is linked with, is attached to at
once, so that no process ends unseen. --comm looks for a program of that name in
PATH; what else processes of that name map is attached to some milliseconds after the
first has mapped it.
-p selects processes with all their threads and whatever they execute, but
not their children; --exe and --comm select children, too.

A program that copies its code to anonymous memory when it starts, for large pages,
copies breakpoints with it, and ends by SIGTRAP. sdttrace refuses files that are
known to do so, such as node where --use-largepages is possible, and programs whose
calls of mprotect, mmap and mremap show it (on x86-64, where they are linked with the
C library dynamically). It reports processes that run copied code, in which no probe
fires. Another program that ends by SIGTRAP while it is traced must not be traced.

uprobe:PATH:FUNC traces the entry of functions, uretprobe:PATH:FUNC their return.
FUNC is compared with symbols and, for C++ and Rust, with names as the source has
them, with the types of parameters or without; a symbol's version may follow, as in
memcpy@GLIBC_2.2.5. A backslash before a ':' of PATH, or before '*', '?' and '[', takes
it as it is, and list prints it so. A PATH without '/' is a program or library that
runs or is installed. arg0, arg1 ... are the words that the
platform's calling convention, or Go's, passes; retval is the result. Their types
are not known: an argument that the function does not have shows what is left in
its register. sdttrace refuses returns where tracing them would crash the program:
in Go, where C++ exceptions or Rust panics may pass, and in files that switch stacks,
as swapcontext does, or are linked with one that does; with -p and CMD also where the
process has mapped one. Not seen are switches by longjmp, in code that is generated or
loaded later, and in programs that run a traced library without -p: a return probe
crashes functions that coroutines leave. uprobe:PATH:FUNC+0x1f
traces one instruction, uprobe:PATH:0x401136 the one at that address in the file,
as objdump prints it. An instruction must begin there, and has no arguments. Left out
are instructions that Linux executes wrongly under a probe, as many vector instructions
with which functions of libm and libc begin; sdttrace list says which, and why.

sdttrace starts CMD, traces it without its children, and ends it if sdttrace has
to end first. CMD is stopped, as by SIGSTOP, after each exec and each time its
dynamic linker has mapped libraries, until their probes are attached to; where
that is not possible, sdttrace prints how late it attached. Constructors of
libraries have not run then, resolvers of their IFUNCs have. (A process
"usdt-guard" continues CMD if sdttrace is killed.) CMD's output goes to stderr,
and sdttrace fails if CMD fails. Signals are meant for CMD, which is traced until
it ends: at the first Ctrl-C, which the terminal sends to both, sdttrace waits for
CMD; the second one terminates CMD, the third kills it. sdttrace passes SIGTERM
and SIGHUP on, and the next one kills CMD.

--where compares arguments (by name, or as arg0, arg1 ...), pid, tid, cpu, uid and comm
with constants: == != < <= > >=, for strings == != and ~ with a pattern in which
'*' stands for any characters; && || ! and parentheses combine. The kernel
tests the condition. Durations, times and addresses, as Go programs declare them,
are compared as such: 'took > 10ms', 'at > 2026-01-31', 'peer == "::1"' (times are
UTC unless they name a zone). Identifiers, which are arrays of bytes, are compared with
their hexadecimal digits: 'trace_id == "8c17..."', 'trace_id ~ "8c17*"'; dashes and colons
between digits do not matter. A comparison with NaN, or with what cannot be read,
is false; a line at the end says which argument that was, at which site and why. The first 512 bytes of a string are compared. An untyped argument that
is compared with a string is read as a pointer to one, and shown as that string.
Parts of structs and arrays are named as in 'peer.port == 80 && scores[0] > 1'.
path[:16] is the first 16 bytes of a text. Integers and durations are computed with,
+ - * / % & << >> binding as in Go: 'size & 4095 != 0', 'took / 1ms >= 5'. Results have
64 bits and wrap around; they are signed if an argument is, and if something is
subtracted. Quotients are rounded towards zero, and a remainder has the sign of what
is divided. What is divided by zero cannot be read.

The arguments of PostgreSQL, OpenJDK, CPython, Ruby, PHP, MySQL, libvirt, glibc and
the C++ library have names and types although their objects do not say so:
postgresql:query__start has query, and needs no --str. Arguments that pass the
length of a text are not shown. arg0, arg1 ... stand for the same arguments. A
number that has a name is shown and compared by it: 'mode == "LW_SHARED"'.
--providers FILE, and files in /etc/usdt and ~/.config/usdt that end in .probes,
name those of other programs, in lines such as

  mine:request(char *path, int status, long took ns)
  mine:cache(char *key[len], int len, bool hit)

that package prototype describes. Names are given only where the number, sizes and
signs of arguments fit, and what an object itself says comes first.

--count, --sum, --avg, --min, --max, --hist and --lhist aggregate events in the
kernel, all of them or by the values of --by, instead of printing each one. The
first 120 bytes of a string distinguish groups. Keys of --by and --key may be computed,
too, by the kernel: --by status/100, --by 'size & 4095', --by 'path[:16]'. They are named
as they are written, without blanks. --by 'sql(query)' makes one group of
the statements that differ in literals only, as in select * from t where id = ?, and
--by 'cxx(type)' shows the names of C++ types as the source has them. With sql,
sdttrace makes the groups, not the kernel, and events can be lost. --hist counts by powers of two,
--lhist in equal steps, with a bucket below LO and one from HI on. --quantiles 50,99
prints p50 and p99 of the same argument: what 50 and 99 of 100 values do not exceed.
They come from buckets that the kernel counts in, 32 from one power of two to the
next, and are at most 1/64, 1.6 %, away from the exact ones; integers below 64 are
exact, floating-point numbers below 1e-9 count as 0 and those from 4.3e9 on as that.
Integers of one probe are signed if they are at one of its sites, and of 64 bits. Where a
site has another form of the argument, or none, its events are lost, or have a group of
their own: a line on stderr says so, with -q as well.

Events of more groups than --max-groups are not lost: those of all but the largest
groups are added up in one that is called (other), in JSON {"other": true}.

--by stack makes a group of each stack from which events came, in the kernel: --count
--by stack says who calls, --sum bytes --by stack for how much, --hist, --latency and
other keys go with it. The calls are printed below the group, to the depth that --stack
says. A latency has the stack of its end. With --stack=dwarf, for code without frame
pointers, sdttrace makes the groups, not the kernel, and events can be lost.

--interval prints the groups and starts anew: every event is in one interval. Groups
that had events earlier are printed with count=0, up to 1000 of them. On a terminal
the groups are drawn in place, as many lines as it has. --sort says which come first,
--top how many are printed. Text has durations, bytes and large numbers with units
and separators, JSON has plain numbers.

--latency START,END measures the time from one probe to the other in the kernel.
An end belongs to the last start that has none yet: of the same goroutine in Go,
of the same call of a function, or of the same thread; with --key id, where that
argument, which both probes have, is the same. A key is per process unless
machine is part of it: --key machine,id. --by groups by arguments of END or,
where END has none of that name, of START. --where tests each of the conditions
between && at the probes that have its arguments. Up to 32 starts nest; a start
whose end was skipped, by an exception or because its thread ended, is counted.
Numbers are nanoseconds in JSON; --lhist latency,0,10ms,500us replaces the powers
of two.

--latency START,END --slower 50ms prints each pair that took longer, instead of a
histogram, as one event: when it ended, how long it took, START with its arguments
and, behind "->", END with its own. In JSON that is one object, with latency in
nanoseconds and both events as start and end. The kernel decides: of pairs that were
faster sdttrace only learns how many there were. --slower 0s prints all. --stack
prints the calls that led to START and those that led to END, --stack=dwarf the latter.

--fields time,pid,query prints these parts of each event only, in that order: time,
comm, pid, tid, probe, args, or single arguments, named as in --where: peer.port,
scores[0]. (An argument that is itself called time or pid is among args.) What is
not named is not in JSON either. Events without any of it print nothing, and do not count
for --limit. Time, process and name that are not asked for are not recorded, which makes
an event cheaper for the traced program.

--snapshot-on prints only what happened around events that fulfil a condition: as
one unit, the --before events before such an event, of all probes, and the --after
events after it, at most one snapshot in --snapshot-every. In JSON that is one
object.

--stack prints below each event the calls that led to it, the innermost first, with
functions, files and lines as far as the programs have them. The kernel follows
frame pointers: Go code has them, code of C, C++ and Rust only if it was compiled
with -fno-omit-frame-pointer, or -C force-frame-pointers; without them the callers of
the probe's caller are missing or wrong. --stack=dwarf has the kernel copy 12 to 16 KiB
of the stack, in which sdttrace finds the callers by the tables that compilers write for
exceptions: for Debian's libraries and programs, among others; --stack=dwarf,400 finds
more than 127.
Each event takes that much of the buffer, see --buffer. Where callers are known to be
missing, the last line, the last frame of profiles or, in JSON, "truncated" says why.
Code of the JVM, Node.js and Python has names if they write a perf map
(-XX:+DumpPerfMapAtExit is too late; --perf-basic-prof; -X perf).

--pprof and --folded write a profile when sdttrace ends: how many events came from
where, or with --weigh the sum of an argument, for go tool pprof -http=: FILE, and for
scripts that draw flame graphs. In pprof, samples have the probe, the process and
arguments that are text as tags. With --by stack they write the groups of --count, --sum
or --latency, with the other keys as tags: the kernel adds up, and no events are sent.

Of otel_memory:*, the probes that OpenTelemetry describes for allocators, they write a
profile of memory, with the values of Go's heap profiles: alloc_objects, alloc_space,
inuse_objects and inuse_space, which is shown, or what --weigh names. What was
allocated before sdttrace came is not in use there.

--record writes events to a file as they arrive, with all that decodes them, which costs
less than printing them. sdttrace replay FILE then prints, filters, counts and adds up as
sdttrace does, as often as wanted and on another machine. A file can be read while it
grows, and if sdttrace is killed. With --stack the file has the stacks, too, with the
names of functions, files and lines, which sdttrace looks up as it writes each event: to
replay them takes neither the processes nor their files. --where, --sample, --limit and
--duration say what is written, --str, --args, --follow and --max-string what of each
event.

--perfetto writes a timeline that ui.perfetto.dev draws: for each thread and process a
track, on which each event is an instant, with its arguments and, with --stack, its
calls. --span START,END shows each pair of two probes as a slice, matched as --latency
matches them: pairs of a thread on its track, nested as its calls are, and those of
goroutines, or of a key as in --span START,END:id, on tracks of their process. A start
without an end is not drawn, unless it is a PROBE, too. Spans that are
not alone are made of the events, each of which is recorded and counted once: a pair
between whose start and end events were lost is left out, and counted. --flow request draws arrows from
event to event, in all processes, in which that argument has the same value, if it is not
empty or 0. --counter draws a number over time. Times are those of the boot clock, as in
Perfetto's traces of the kernel: cat makes one trace of both. Durations are nanoseconds.
The file can be read while it grows, and however sdttrace ends; memory stays bounded.

--html writes a page when sdttrace ends, one file that needs no network: how often
probes fired over time, histograms of arguments that are numbers, with --span how long
pairs of probes took and the slowest of them, with --stack a flame graph, and a table of
the events, to sort and filter. All counts and charts are of all
events; the table has the newest of them, 1,048,576 at most, or fewer if their arguments
are long: the file stays below 100 MB. "?" in the page lists its keys. sdttrace serve shows
the same page live.

--user needs no privileges, and costs a service a tenth of the time per event: Go
services write events to memory that they share with tracers of their user. A
service does so if it was built to (Options.Local) or runs with USDT_LOCAL=1, as
CMD then does. --user shows neither probes of other programs nor functions, and no
thread numbers. Without --user, sdttrace does the same if it may not use the
kernel, and reports it.

Functions of running programs are counted for a tenth of a second first, unless
--duration is that short, and sdttrace warns of those called more than 30,000 times a
second, such as malloc: --sample saves recording and output, but the trap is most of
what slows such a program down, and only a short --duration bounds it. -q leaves the
warning out.

--cost has the kernel measure how long sdttrace's programs run, and compares that
with the CPU time that the traced processes used, or all of the machine. The trap
into the kernel comes before a program runs: it is not measured, and costs most at
sites that are breakpoints. While the kernel measures, each run of any BPF program on
the machine takes a little longer. It takes CAP_SYS_ADMIN. --sample N saves the
recording of the other events, and what reads them, but not the trap. --count saves
all recording.

Events go to stdout, everything else to stderr. The last line on stderr reports
how many events there were, how many were lost because the buffer was full,
filtered by --where or left unread, and how many probe sites sdttrace attached
to. Ctrl-C, SIGTERM and SIGHUP end sdttrace with all results; a second signal,
sent at least a second later, ends it at once. Before sdttrace has attached to
anything, a signal ends it as it ends other programs: shells report 130 for
Ctrl-C. The exit code is 0 if sdttrace traced, or waited for what did not come,
1 if it could not trace or nothing matched, 2 for bad usage.`
