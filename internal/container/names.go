package container

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/internal/procfs"
)

// Names are the files in which runtimes and the kubelet keep names.
type Names struct {
	// Root stands before the paths; empty for this machine's.
	Root string
}

// Limits of what is read.
const (
	maxFile    = 8 << 20 // bytes
	maxEntries = 1 << 16 // of a directory
	maxName    = 512     // bytes
)

// The directories and files.
const (
	dockerContainers = "/var/lib/docker/containers" // github.com/moby/moby, daemon/container: ID/config.v2.json
	storage          = "/containers/storage/overlay-containers"
	logsOfContainers = "/var/log/containers" // github.com/kubernetes/kubernetes, pkg/kubelet/kuberuntime/legacy.go
	logsOfPods       = "/var/log/pods"       // ibidem, helpers.go: BuildPodLogsDirectory
)

// storageFiles are the files of Podman and CRI-O: github.com/containers/storage, containers.go.
var storageFiles = []string{"/var/lib" + storage + "/containers.json", "/run" + storage + "/volatile-containers.json"}

// Container returns the names of a container, none if no file has one.
func (n Names) Container(id string) (names []string) {
	if !identifier.MatchString(id) {
		return nil
	}
	add := func(name string) {
		name = strings.TrimPrefix(name, "/")
		if name != "" && len(name) <= maxName && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	var docker struct{ Name string }
	if n.decode(filepath.Join(dockerContainers, id, "config.v2.json"), &docker) == nil {
		add(docker.Name)
	}
	for _, file := range storageFiles {
		var all []struct {
			ID    string
			Names []string
		}
		if n.decode(file, &all) != nil {
			continue
		}
		for _, c := range all {
			if c.ID == id {
				for _, name := range c.Names[:min(len(c.Names), 8)] {
					add(name)
				}
			}
		}
	}
	for _, entry := range n.list(logsOfContainers) { // POD_NAMESPACE_CONTAINER-ID.log
		if rest, ok := strings.CutSuffix(entry, "-"+id+".log"); ok {
			if words := strings.Split(rest, "_"); len(words) == 3 {
				add(words[2])
			}
		}
	}
	return names
}

// Pod returns NAMESPACE/NAME of a pod; empty if the kubelet has no logs of it.
func (n Names) Pod(uid string) string {
	for _, entry := range n.list(logsOfPods) { // NAMESPACE_NAME_UID
		if words := strings.Split(entry, "_"); len(words) == 3 && words[2] == uid && uid != "" && len(entry) <= maxName {
			return words[0] + "/" + words[1]
		}
	}
	return ""
}

// decode reads a file of JSON. Only regular files are read: others may never end.
func (n Names) decode(path string, to any) error {
	f, err := procfs.OpenFile(n.Root + path)
	if err != nil {
		return err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return err
	}
	if len(text) > maxFile {
		return fmt.Errorf("%s has more than %d bytes", path, maxFile)
	}
	return json.Unmarshal(text, to)
}

// list returns the names in a directory.
func (n Names) list(path string) []string {
	dir, err := os.Open(n.Root + path)
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, err := dir.Readdirnames(maxEntries)
	if err != nil && err != io.EOF {
		return nil
	}
	return names
}
