package serve

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"net"
	"net/http"
	"slices"

	"github.com/go-usdt/usdt/internal/printable"
)

// tokenHeader has the token in requests of the page's program.
const tokenHeader = "Sdttrace-Token"

// unframed lets no other page have this one in a frame, where clicks would be meant for
// something else.
const unframed = "frame-ancestors 'none'"

func newToken() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// hostsOf returns what a request may call the server: a browser looks up no other name for
// either.
func hostsOf(l net.Listener) []string {
	address := l.Addr().(*net.TCPAddr)
	_, port, _ := net.SplitHostPort(address.String())
	return []string{address.String(), net.JoinHostPort("localhost", port)}
}

// guard lets requests pass that come from the page, or ask for it, and have the token.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Content-Security-Policy", "default-src 'none'; "+unframed)
		token := r.Header.Get(tokenHeader)
		if r.URL.Path == "/" {
			token = r.URL.Query().Get("token")
		}
		origins := r.Header.Values("Origin")
		switch {
		case !slices.Contains(s.hosts, r.Host):
			refuse(w, "this address is served as "+s.hosts[0]+" only")
			return
		case len(origins) > 1 || len(origins) == 1 && origins[0] != "http://"+r.Host:
			refuse(w, "requests of other pages are refused")
			return
		case subtle.ConstantTimeCompare([]byte(token), []byte(s.token)) != 1:
			refuse(w, "the token is missing or wrong: use the address that sdttrace has printed")
			return
		}
		acquainted(r.Context())
		switch {
		case r.Method != http.MethodGet && (s.o.Change == nil || r.Method != http.MethodPost):
			http.Error(w, "the page is read-only: start sdttrace serve with --allow-attach", http.StatusMethodNotAllowed)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// refuse answers a stranger, who keeps no connection.
func refuse(w http.ResponseWriter, why string) {
	w.Header().Set("Connection", "close")
	http.Error(w, printable.String(why), http.StatusForbidden)
}
