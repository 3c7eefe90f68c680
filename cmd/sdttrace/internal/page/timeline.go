package page

// timeline divides the time of all events into intervals of equal width, which doubles
// whenever there are too many.
type timeline struct {
	begin, width int64 // in nanoseconds
	bins         int
	all          []*series
}

// maxBins is the largest number of intervals, about the pixels of a chart.
const maxBins = 1024

// series counts events by interval.
type series struct {
	counts []uint64
	known  bool // to the timeline
}

// add counts an event of a time.
func (t *timeline) add(s *series, at int64) {
	if !s.known {
		s.known = true
		t.all = append(t.all, s)
	}
	if t.bins == 0 {
		t.begin, t.width, t.bins = at&^1023, 1024, 1
	}
	if at < t.begin || at-t.begin >= t.width*int64(t.bins) {
		t.include(at)
	}
	i := int((at - t.begin) / t.width)
	if i >= len(s.counts) {
		s.counts = append(s.counts, make([]uint64, i+1-len(s.counts))...)
	}
	s.counts[i]++
}

// include makes room for a time, before or behind what there is.
func (t *timeline) include(at int64) {
	begin, end := min(t.begin, at), max(t.begin+t.width*int64(t.bins), at+1)
	width := t.width
	for {
		from := begin - mod(begin, width)
		if n := (end - from + width - 1) / width; n <= maxBins {
			t.divide(from, width, int(n))
			return
		}
		width *= 2
	}
}

// includeAll makes room for the times of losses, and returns the losses as charts show them:
// losses that are closer than an interval are one.
func (t *timeline) includeAll(losses []Loss) (shown []Loss) {
	for i := range losses {
		l := &losses[i]
		if t.bins == 0 {
			t.begin, t.width, t.bins = l.From&^1023, 1024, 1
		}
		t.include(l.From)
		t.include(l.To)
	}
	for _, l := range losses {
		if n := len(shown); n > 0 && l.From-shown[n-1].To < t.width {
			shown[n-1].To, shown[n-1].N = max(shown[n-1].To, l.To), shown[n-1].N+l.N
			continue
		}
		shown = append(shown, l)
	}
	return shown
}

func (t *timeline) divide(begin, width int64, bins int) {
	if begin != t.begin || width != t.width {
		for _, s := range t.all {
			counts := make([]uint64, 0, bins)
			for i, n := range s.counts {
				j := int((t.begin + int64(i)*t.width - begin) / width)
				if j >= len(counts) {
					counts = counts[:j+1]
				}
				counts[j] += n
			}
			s.counts = counts
		}
	}
	t.begin, t.width, t.bins = begin, width, bins
}

// mod returns the remainder of a division that rounds down.
func mod(a, b int64) int64 { return ((a % b) + b) % b }
