package sums

import "encoding/binary"

// joinGroups adds up what differs only by control groups that have the same word: the groups of one
// container, or of one pod. The id of one of them stands for all in keys.
func (s *Sums) joinGroups() {
	var parts []int
	for i := range s.Layout.Parts {
		if s.Layout.Parts[i].In.Group != 0 {
			parts = append(parts, i)
		}
	}
	if len(parts) == 0 || s.Layout.Groups == nil {
		return
	}
	old := s.of
	s.of = make(map[string][]uint64, len(old))
	for key, words := range old {
		if isOther([]byte(key)) {
			s.AddWords(key, words)
			continue
		}
		b := []byte(key)
		for _, i := range parts {
			if _, missing := s.Layout.MissingPart(b, i); !missing {
				at := b[s.Layout.Parts[i].Offset:]
				binary.NativeEndian.PutUint64(at, s.Layout.Groups.Same(binary.NativeEndian.Uint64(at), s.Layout.Parts[i].In.Group))
			}
		}
		s.AddWords(string(b), words)
	}
}
