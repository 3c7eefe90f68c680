// Command kernels runs the tests of this module on kernels other than the running
// one: it boots Debian's kernels under qemu with an initramfs that holds
// statically linked test binaries, and writes the results to KERNELS.md.
//
//	go run ./internal/systest/kernels [-update] [-only PKG,...] [-run REGEX] [-flags FLAGS] [-tools NAME,...] [-cpus N] [KERNEL...]
//
// A test that fails runs again, by itself, three times. It is unsteady if it passes each time:
// an emulated processor may stand still for seconds. Such tests are listed at the end of the
// log, and do not make the run fail if a machine has no more than three. With -run or -flags,
// no test runs again.
//
// It exits with code 1 if a test failed, if one was skipped for a reason that no
// rule explains, or if KERNELS.md does not have the results; -update writes it.
// Kernel packages are kept in the user's cache directory.
package main
