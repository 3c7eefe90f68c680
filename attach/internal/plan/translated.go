package plan

import (
	"fmt"
	"os"

	"github.com/go-usdt/usdt/internal/procfs"
)

// Valgrind's tools and QEMU's emulators of programs read the code of a program, and run a
// translation. The kernel puts breakpoints into whatever maps the file, so that they are
// translated as well: the program gets SIGTRAP where one is, and one that comes later fires
// nothing.

// translator is a process that translates the code of a file.
type translator struct {
	pid int
	by  string
}

// translates refuses sites in processes that translate their code, and in files that such a
// process has mapped.
func (pl *Planner) translates(s *site) {
	var t translator
	if s.pid != 0 {
		procfs.AwaitExec(s.pid)
		exe, err := os.Stat(fmt.Sprintf("/proc/%d/exe", s.pid))
		if t = (translator{s.pid, procfs.Translator(s.pid)}); t.by == "" || err == nil && os.SameFile(exe, s.object.Info) {
			return // the translator's own code is not translated
		}
	} else {
		if pl.translated == nil {
			pl.translated = translatedFiles()
		}
		if len(pl.translated) == 0 {
			return // as on most machines
		}
		if id, err := procfs.MappedID(s.object.File); err == nil {
			t = pl.translated[id]
		}
	}
	if t.by != "" {
		s.Reason = fmt.Errorf("process %d runs its code by %s, which would translate the breakpoint as well, and the process would end by SIGTRAP: %w", t.pid, t.by, ErrUnsafe)
	}
}

// translatedFiles returns the files that processes of the machine have mapped and translate, except
// for the translators' own.
func translatedFiles() map[procfs.ID]translator {
	files := map[procfs.ID]translator{}
	pids, err := procfs.PIDs()
	if err != nil {
		return files
	}
	for _, pid := range pids {
		by := procfs.Translator(pid)
		if by == "" {
			continue
		}
		own := ""
		maps, err := procfs.Maps(pid)
		if err != nil {
			continue
		}
		own, _ = os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		for i := range maps {
			if m := &maps[i]; m.Inode != 0 && m.Path != own {
				files[procfs.ID{Dev: m.Dev, Inode: m.Inode}] = translator{pid, by}
			}
		}
	}
	return files
}
