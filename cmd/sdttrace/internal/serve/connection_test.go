package serve

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// stranger connects without the token, and asks for a page if it speaks.
func stranger(t *testing.T, s *Server, speaks bool) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", s.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if speaks {
		fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", s.hosts[0])
		answer, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		if answer.StatusCode != http.StatusForbidden || !answer.Close {
			t.Errorf("a stranger got %s, and may keep the connection: %t", answer.Status, !answer.Close)
		}
		answer.Body.Close()
	}
	return c
}

// TestStrangers has others take more connections than there are: the page is shown all the
// same, and the end comes as soon as it does without them.
func TestStrangers(t *testing.T) {
	for name, speaks := range map[string]bool{"silent": false, "refused": true} {
		t.Run(name, func(t *testing.T) {
			s, _ := serving(t, Options{})
			hurry(s)
			page, err := net.Dial("tcp", s.hosts[0])
			if err != nil {
				t.Fatal(err)
			}
			defer page.Close()
			answers := bufio.NewReader(page)
			show := func() {
				t.Helper()
				fmt.Fprintf(page, "GET /update?tab=a HTTP/1.1\r\nHost: %s\r\n%s: %s\r\n\r\n", s.hosts[0], tokenHeader, s.token)
				answer, err := http.ReadResponse(answers, nil)
				if err != nil {
					t.Fatalf("the page that was there first: %v", err)
				}
				if _, err := io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode != http.StatusOK {
					t.Fatalf("the page that was there first: %s, %v", answer.Status, err)
				}
				answer.Body.Close()
			}
			show()
			for range 3 * maxConnections {
				stranger(t, s, speaks)
			}
			show()
			if status, _, _ := request(t, s, "GET", "/update?tab=b", nil); status != http.StatusOK {
				t.Errorf("another page got status %d", status)
			}
			begun := time.Now()
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			// Strangers who say nothing are sent away after the last answers' time at most.
			if took := time.Since(begun); took > time.Minute {
				t.Errorf("the end took %v", took)
			}
		})
	}
}
