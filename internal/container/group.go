package container

// Group is what is known of a control group.
type Group struct {
	Path string // from the root of its hierarchy
	// Container is the name of the container that the group belongs to: as its runtime or Kubernetes
	// has it or, if no file says that, the first 12 digits of the identifier. Pod is NAMESPACE/NAME of
	// its pod or, if no file says that, the UID. Both are empty for none.
	Container, Pod string
}

// Word is one of the words that a group has.
type Word uint8

const (
	PathWord Word = iota + 1
	ContainerWord
	PodWord
)

// Text returns a word of the group.
func (g *Group) Text(w Word) string {
	switch w {
	case PathWord:
		return g.Path
	case ContainerWord:
		return g.Container
	case PodWord:
		return g.Pod
	}
	return ""
}

// shortDigits is how much of an identifier runtimes show.
const shortDigits = 12

// Describe returns what a path of a control group and files say now. unsure says that files may
// say more later.
func (n Names) Describe(path string) (g Group, unsure bool) {
	of := Parse(path)
	g = Group{Path: path, Container: of.ID, Pod: of.Pod}
	if identifier.MatchString(of.ID) {
		g.Container = of.ID[:shortDigits]
		names := n.Container(of.ID)
		if unsure = len(names) == 0; !unsure {
			g.Container = names[0]
		}
	}
	if of.Pod != "" {
		if name := n.Pod(of.Pod); name != "" {
			g.Pod = name
		} else {
			unsure = true
		}
	}
	return g, unsure
}
