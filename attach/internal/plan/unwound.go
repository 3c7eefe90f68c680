package plan

import (
	"debug/elf"
	"encoding/binary"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/safeelf"
	"github.com/go-usdt/usdt/reader"
)

// The GNU C library ends a thread by unwinding its stack (nptl/unwind.c), by return addresses as
// exceptions do. At one that a return probe has replaced it stops, and what its callers would clean
// up, mutexes that they hold among it, is left. That happens in functions that end the thread, and
// in those in which it may be cancelled.

// glibcNames are the beginnings of the SONAMEs of libraries with such functions. musl's threads
// unwind nothing.
var glibcNames = []string{"libc.so.6", "libpthread.so.0"}

// enders are what a program calls to end threads like this.
var enders = []string{"pthread_cancel", "pthread_exit", "thrd_exit"}

// endsThreads reports whether the function is one of the C library's in which a thread of the site's
// process may end, as it does in each call of some.
func (pl *Planner) endsThreads(s *site) bool {
	fn := s.probe.Target
	ends := slices.ContainsFunc(fn.Symbols, func(name string) bool { return slices.Contains(enders[1:], name) })
	return (ends || s.pid != 0 && isCancellationPoint(fn)) && isOf(s.object.ELF, glibcNames) && (ends || pl.processOf(s.pid).ends)
}

// unwinds reports whether return instructions are better than a return probe, since the stack may be
// unwound through a function of C: by the end of a thread in the C library of any process, or in a
// file with tables of what is to be done then, and by an exception that a function throws which it
// calls back. They may be unknown, and then a return probe stays: most processes do nothing of this.
func (pl *Planner) unwinds(s *site) bool {
	f := s.object.ELF
	switch {
	case s.probe.Target.Convention.IsGo() || slices.Contains(s.probe.Target.Symbols, "main"):
		return false // what gets to main is caught there, or nowhere
	case isOf(f, glibcNames):
		return s.pid == 0 && isCancellationPoint(s.probe.Target)
	case isOf(f, switchless):
		return false
	case f.Section(".gcc_except_table") != nil && len(f.Dynamic(elf.DT_NEEDED)) > 0: // others have the C library's tables
		return callsOthers(s)
	case s.pid == 0:
		return false
	}
	called := pl.processOf(s.pid).calledBack
	names := append(f.Dynamic(elf.DT_SONAME), filepath.Base(s.Path))
	return slices.ContainsFunc(names, func(name string) bool { return called[name] }) && callsOthers(s)
}

// callsOthers reports whether the function calls others: nothing is unwound through one that does not.
// Bytes that happen to look like a call do no harm.
func callsOthers(s *site) bool {
	code := codeOf(s)
	switch s.probe.Machine {
	case elf.EM_X86_64, elf.EM_386:
		const call, group = 0xe8, 0xff // group 5 with 2 in ModRM.reg: call to an address in a register or in memory
		for i, b := range code {
			if b == call || b == group && i+1 < len(code) && code[i+1]&0x38 == 0x10 {
				return true
			}
		}
	case elf.EM_AARCH64:
		for ; len(code) >= 4; code = code[4:] {
			w := binary.LittleEndian.Uint32(code)
			if bl, blr := w&0xfc000000 == 0x94000000, w&0xfffffc1f == 0xd63f0000; bl || blr {
				return true
			}
		}
	}
	return false
}

// process is what the files of a process may do to the functions of others.
type process struct {
	ends       bool            // threads
	calledBack map[string]bool // the names of libraries with which files that throw are linked, one by way of another
}

// processOf looks at what a process has mapped.
func (pl *Planner) processOf(pid int) process {
	p, known := pl.processes[pid]
	if known {
		return p
	}
	needed := map[string][]string{}
	var throwers []string
	for o, f := range mappedFiles(pid) {
		of, known := pl.unwinders[o.ID]
		if !known {
			of = unwinderOf(f)
			pl.unwinders[o.ID] = of
		}
		p.ends = p.ends || of.ends
		for _, name := range append(of.names, filepath.Base(o.Path)) {
			needed[name] = append(needed[name], of.needed...)
		}
		if of.throws {
			throwers = append(throwers, of.needed...)
		}
	}
	p.calledBack = map[string]bool{}
	for len(throwers) > 0 {
		name := throwers[0]
		if throwers = throwers[1:]; !p.calledBack[name] {
			p.calledBack[name] = true
			throwers = append(throwers, needed[name]...)
		}
	}
	pl.processes[pid] = p
	return p
}

// unwinder is what a file may do to the functions of others.
type unwinder struct {
	ends   bool     // threads
	throws bool     // exceptions, which may pass through the libraries with which it is linked
	names  []string // which others call it
	needed []string // names of these libraries
}

func unwinderOf(f *procfs.File) (u unwinder) {
	e, err := safeelf.NewFile(f)
	if err != nil || isOf(e, glibcNames) {
		return u
	}
	u = unwinder{ends: hasName(e, enders), throws: throwerOf(e) != throwsNever, names: e.Dynamic(elf.DT_SONAME)}
	for _, name := range e.Dynamic(elf.DT_NEEDED) {
		u.needed = append(u.needed, filepath.Base(name)) // a library without a SONAME is needed by its path
	}
	return u
}

// mappedFiles opens the files with code that a process has mapped, one after the other.
func mappedFiles(pid int) iter.Seq2[*procfs.Object, *procfs.File] {
	return func(yield func(*procfs.Object, *procfs.File) bool) {
		procfs.AwaitExec(pid)
		maps, err := procfs.Maps(pid)
		if err != nil {
			return
		}
		for _, o := range procfs.Objects(pid, maps) {
			f, _, err := o.Open()
			if err != nil {
				continue
			}
			more := yield(o, f)
			f.Close()
			if !more {
				return
			}
		}
	}
}

// isCancellationPoint reports whether a function of the C library is one in which its thread may be
// cancelled: pthreads(7), and what else is one in glibc.
func isCancellationPoint(fn *reader.Function) bool {
	return slices.ContainsFunc(fn.Symbols, func(name string) bool {
		name = strings.TrimLeft(name, "_")
		for _, begin := range []string{"libc_", "IO_", "isoc99_", "isoc23_"} {
			name = strings.TrimPrefix(name, begin)
		}
		for _, end := range []string{"_chk", "64", "_unlocked"} {
			name = strings.TrimSuffix(name, end)
		}
		return cancellationPoints()[name]
	})
}

var cancellationPoints = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	for name := range strings.FieldsSeq(`
accept accept4 aio_suspend clock_nanosleep close cnd_timedwait cnd_wait connect copy_file_range creat
epoll_pwait epoll_pwait2 epoll_wait fallocate fcntl fdatasync fsync getrandom lockf mq_receive mq_send
mq_timedreceive mq_timedsend msgrcv msgsnd msync nanosleep open openat open_by_handle_at pause poll
posix_fallocate ppoll pread preadv preadv2 pselect pthread_clockjoin_np pthread_cond_clockwait
pthread_cond_timedwait pthread_cond_wait pthread_join pthread_setcanceltype
pthread_setcancelstate pthread_testcancel pthread_timedjoin_np pwrite pwritev pwritev2 read readv recv
recvfrom recvmmsg recvmsg select sem_clockwait sem_timedwait sem_wait send sendmmsg sendmsg sendto
sigpause sigsuspend sigtimedwait sigwait sigwaitinfo sleep splice sync_file_range system tcdrain tee
thrd_join thrd_sleep usleep vmsplice wait wait3 wait4 waitid waitpid write writev

closedir closelog dprintf fclose fflush fgetc fgets fgetwc fgetws fopen fprintf fputc fputs fputwc
fputws fread freopen fscanf fseek fseeko fsetpos ftw fwprintf fwrite fwscanf getaddrinfo getc getchar
getdelim getgrent getgrgid getgrgid_r getgrnam getgrnam_r getgrouplist gethostbyaddr gethostbyaddr_r
gethostbyname gethostbyname_r gethostbyname2 gethostbyname2_r getline getnameinfo getpass getpwent
getpwnam getpwnam_r getpwuid getpwuid_r gets getservbyname getservbyname_r getservbyport getw getwc
getwchar glob initgroups mkstemp nftw opendir openlog pclose perror popen printf psignal putc putchar
puts putw putwc putwchar readdir readdir_r remove rewind scandir scanf syslog tmpfile ungetc vdprintf
vfprintf vfscanf vfwprintf vprintf vscanf vsyslog vwprintf wordexp wprintf wscanf`) {
		names[name] = true
	}
	return names
})
