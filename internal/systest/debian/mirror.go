package debian

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// Mirror returns the address of a mirror of Debian's archive: the value of the
// environment variable DEBIAN_MIRROR or, if that is not set, the mirror from
// which apt gets this machine's own release.
func Mirror() (string, error) {
	if mirror := os.Getenv("DEBIAN_MIRROR"); mirror != "" {
		return mirror, nil
	}
	return mirrorOf(nil)
}

// mirrorOf asks apt, which reads sources.list and *.sources; options are apt's.
func mirrorOf(options []string) (string, error) {
	const advice = "; set DEBIAN_MIRROR to the address of a mirror"
	codename, err := codename()
	if err != nil {
		return "", fmt.Errorf("find a mirror of Debian: %w%s", err, advice)
	}
	args := append(slices.Clone(options), "update", "--print-uris") // downloads nothing
	out, err := exec.Command("apt-get", args...).Output()
	if err != nil {
		return "", fmt.Errorf("find a mirror of Debian: apt-get update --print-uris: %w%s", err, advice)
	}
	for _, m := range index.FindAllStringSubmatch(string(out), -1) {
		if m[2] == codename || slices.Contains(suites, m[2]) {
			return listed(m[1])
		}
	}
	return "", fmt.Errorf("find a mirror of Debian: apt's sources name none of %s%s", codename, advice)
}

// index is the address of a list of packages, the mirror's and the suite in it.
var index = regexp.MustCompile(`(?m)^'(.+?)/*/dists/([^/']+)/main/binary-`)

// suites are names that refer to different releases over time.
var suites = []string{"stable", "oldstable", "oldoldstable", "testing", "unstable", "sid"}

// codename returns the name of the release of Debian that this machine runs.
func codename() (string, error) {
	data, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return "", err
	}
	values := map[string]string{}
	for line := range strings.Lines(string(data)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		values[key] = strings.Trim(value, `"`)
	}
	if values["ID"] != "debian" {
		return "", errors.New("this machine does not run Debian")
	}
	return values["VERSION_CODENAME"], nil
}

// listed returns the first mirror in the list that mirror+file:PATH names, and
// every other address as it is (apt-transport-mirror(1)).
func listed(mirror string) (string, error) {
	path, ok := strings.CutPrefix(mirror, "mirror+file:")
	if !ok {
		return mirror, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read apt's list of mirrors: %w", err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if address, _, _ := strings.Cut(lines.Text(), "\t"); address != "" && address[0] != '#' {
			return strings.TrimSuffix(strings.TrimSpace(address), "/"), nil
		}
	}
	if err := lines.Err(); err != nil {
		return "", fmt.Errorf("read apt's list of mirrors: %w", err)
	}
	return "", fmt.Errorf("apt's list of mirrors %s is empty; set DEBIAN_MIRROR to the address of a mirror", path)
}
