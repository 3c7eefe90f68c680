package container

import (
	"path"
	"regexp"
	"strings"
)

// Container is what the path of a control group says.
type Container struct {
	Runtime string // docker, containerd, cri-o, podman or systemd-nspawn; empty if the path does not say it
	ID      string // of the container; of systemd-nspawn its name; empty for none
	Pod     string // the UID of the Kubernetes pod, with hyphens; empty for none
}

// runtimes are the forms that a runtime gives the name of a container's group: by systemd, what
// stands before the identifier in the name of a scope, and without it, what stands before the
// identifier in the name of a directory, or the directory above it.
var runtimes = []struct{ name, scope, prefix, above string }{
	// github.com/moby/moby, daemon/oci_linux.go, WithCgroups
	{name: "docker", scope: "docker-", above: "docker"},
	// github.com/containerd/containerd, internal/cri/server/helpers_linux.go: getCgroupsPath
	{name: "containerd", scope: "cri-containerd-", prefix: "cri-containerd-"},
	// github.com/containerd/nerdctl, pkg/cmd/container/run_cgroup_linux.go: generateCgroupPath
	{name: "containerd", scope: "nerdctl-", above: "default"},
	// github.com/cri-o/cri-o, internal/config/cgmgr/cgmgr_linux.go: CrioPrefix
	{name: "cri-o", scope: "crio-", prefix: "crio-"},
	// github.com/containers/podman, libpod/container_internal_linux.go: getOCICgroupPath
	{name: "podman", scope: "libpod-", prefix: "libpod-"},
	// ibidem, with --cgroups=split, as Quadlet's services have it
	{name: "podman", prefix: "libpod-payload-"},
}

var (
	// Containers have identifiers of 32 random bytes: github.com/moby/moby, daemon/stringid
	identifier = regexp.MustCompile(`^[0-9a-f]{64}$`)
	// UIDs of pods have the form of RFC 4122; a static pod's is a hash: github.com/kubernetes/kubernetes,
	// pkg/kubelet/cm/pod_container_manager_linux.go and pkg/kubelet/config/common.go
	podUID = regexp.MustCompile(`(?:^|-)pod([0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32})(?:\.slice)?$`)
)

// Below returns the path, in the hierarchy that is mounted at root, of a group whose name begins with
// where that is, also as the hierarchy is called in /sys/fs/cgroup: pids/myapp. ok says that it does.
func Below(root, name string) (below string, ok bool) {
	for _, whole := range []string{path.Clean(name), path.Join(path.Dir(root), name)} {
		if below, ok := strings.CutPrefix(whole+"/", root+"/"); ok {
			return strings.TrimSuffix(below, "/"), true
		}
	}
	return name, false
}

// Parse returns what a path of a control group says, such as /proc/PID/cgroup has them. A
// container within another is the one that counts.
func Parse(group string) (of Container) {
	above := ""
	for element := range strings.SplitSeq(group, "/") {
		if m := podUID.FindStringSubmatch(element); m != nil {
			of = Container{Pod: strings.ReplaceAll(m[1], "_", "-")}
		} else if i := strings.IndexByte(element, ':'); i > 0 {
			// With a driver for groups that differs from the kubelet's, runc takes the words of
			// systemd, slice:prefix:name, for a path.
			if m := podUID.FindStringSubmatch(element[:i]); m != nil {
				of = Container{Pod: strings.ReplaceAll(m[1], "_", "-")}
				element = strings.ReplaceAll(element[i+1:], ":", "-")
			}
		}
		if runtime, id := named(element, above); id != "" {
			of.Runtime, of.ID = runtime, id
		}
		above = element
	}
	return of
}

// named returns what the name of a group says.
func named(element, above string) (runtime, id string) {
	name, scope := strings.CutSuffix(element, ".scope")
	if machine, ok := strings.CutPrefix(name, "machine-"); ok && scope && above == "machine.slice" {
		// org.freedesktop.machine1(5): scopes of machines
		return "systemd-nspawn", strings.ReplaceAll(machine, `\x2d`, "-")
	}
	if machine, ok := strings.CutPrefix(element, "systemd-nspawn@"); ok && above == "machine.slice" {
		// github.com/systemd/systemd, units/systemd-nspawn@.service.in
		machine, ok = strings.CutSuffix(machine, ".service")
		if ok && machine != "" {
			return "systemd-nspawn", strings.ReplaceAll(machine, `\x2d`, "-")
		}
	}
	for _, r := range runtimes {
		prefix := r.prefix
		if scope {
			prefix = r.scope
			if prefix == "" {
				continue
			}
		}
		rest, ok := strings.CutPrefix(name, prefix)
		if ok && (prefix != "" || above == r.above) && identifier.MatchString(rest) {
			return r.name, rest
		}
	}
	if podUID.MatchString(above) && identifier.MatchString(name) {
		return "", name // containerd and Docker below a pod, without systemd
	}
	return "", ""
}
