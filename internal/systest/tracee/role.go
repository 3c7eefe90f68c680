package tracee

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// quick is the environment variable that names a directory of test binaries without the race detector, with which
// a program takes several times as long to start. NAME/exe has the same sources as the binary called NAME.
const quick = "USDT_TEST_QUICK"

// role is the environment variable that names the role of a test binary.
const role = "USDT_TEST_ROLE"

// Roles are the programs that a test binary can be, besides a test, by name. Each
// gets the command's arguments.
type Roles map[string]func(args []string) error

// Run runs this process's role and exits, if [Self] has started it in one. TestMain
// calls it first.
func Run(roles Roles) {
	name, ok := os.LookupEnv(role)
	if !ok {
		return
	}
	os.Unsetenv(role) // for programs that the role starts
	run := roles[name]
	if run == nil {
		fmt.Fprintf(os.Stderr, "no role %q\n", name)
		os.Exit(2)
	}
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Obey makes a role from a function. The role calls it with each line of the
// standard input, and writes "done" to the standard output after each.
func Obey(run func(command string) error) func(args []string) error {
	return func([]string) error {
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			if err := run(lines.Text()); err != nil {
				return err
			}
			if _, err := fmt.Println("done"); err != nil {
				return err
			}
		}
		return nil
	}
}

// Self returns a command that runs the file of [Executable] in a role. It panics in a binary that
// was started in a role and tests instead, because its TestMain does not call [Run]: that
// would start others without end.
func Self(name string, args ...string) *exec.Cmd {
	if unplayed, ok := os.LookupEnv(role); ok {
		panic(fmt.Sprintf("this process is to be %q, but TestMain does not call tracee.Run", unplayed))
	}
	return command(cmp.Or(sooner(), "/proc/self/exe"), args, role+"="+name)
}

// Executable returns the path of the file that commands of [Self] execute: this test binary, or one of
// the same sources that starts sooner.
func Executable() (string, error) {
	if path := sooner(); path != "" {
		return path, nil
	}
	return os.Executable()
}

// sooner returns the path of the test binary of this package that starts sooner, "" if there is none.
func sooner() string {
	dir := os.Getenv(quick)
	if dir == "" {
		return ""
	}
	path := filepath.Join(dir, filepath.Base(os.Args[0]), "exe")
	if _, err := os.Stat(path); err != nil {
		return "" // of another package
	}
	return path
}

// command returns a command with an addition to its environment.
func command(path string, args []string, variable string) *exec.Cmd {
	cmd := exec.Command(path, args...)
	// The race detector's programs sleep for a second before they exit.
	cmd.Env = append(os.Environ(), variable, "GORACE="+os.Getenv("GORACE")+" atexit_sleep_ms=0")
	return cmd
}
