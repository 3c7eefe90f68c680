package serve

import (
	"net/http"
	"slices"

	"github.com/go-usdt/usdt/internal/printable"
)

// Downloads are what a page offers of the events that it shows: files by their endings.
var Downloads = []string{"usdt", "pftrace", "pb.gz", "folded"}

// download answers with a file of the events that are kept.
func (s *Server) download(w http.ResponseWriter, r *http.Request) {
	as := r.URL.Query().Get("as")
	switch {
	case s.o.Keep == nil:
		http.NotFound(w, r)
		return
	case !slices.Contains(Downloads, as):
		http.Error(w, "want the ending of a file, as in as=usdt", http.StatusBadRequest)
		return
	case !s.keeping.TryLock():
		http.Error(w, "another download is being made: try again when it ends", http.StatusConflict)
		return
	}
	defer s.keeping.Unlock()
	file := &started{w: w}
	if err := s.o.Keep(r.Context(), as, file); err != nil && !file.begun {
		http.Error(w, printable.String(err.Error()), http.StatusInternalServerError)
	} else if err != nil {
		panic(http.ErrAbortHandler) // the browser is to see that the file is not whole
	}
}

// started is an answer of which something has been written, or nothing yet.
type started struct {
	w     http.ResponseWriter
	begun bool
}

func (s *started) Write(b []byte) (int, error) {
	if !s.begun {
		s.begun = true
		s.w.Header().Set("Content-Type", "application/octet-stream")
	}
	return s.w.Write(b)
}
