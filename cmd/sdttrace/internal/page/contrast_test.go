package page

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestContrast computes the contrast of the page's colors, as WCAG 2.2 defines it (relative
// luminance and contrast ratio in https://www.w3.org/TR/WCAG22/): 4.5 for text (1.4.3), 3 for
// what is not text but says something (1.4.11).
func TestContrast(t *testing.T) {
	css, err := assets.ReadFile("assets/page.css")
	if err != nil {
		t.Fatal(err)
	}
	light, rest, ok := strings.Cut(string(css), "@media (prefers-color-scheme: dark)")
	if !ok {
		t.Fatal("the style sheet has no colors for a dark background")
	}
	dark, _, _ := strings.Cut(rest, "* {")
	const text, drawn = 4.5, 3
	for name, block := range map[string]string{"light": light, "dark": dark} {
		color := map[string]string{}
		for _, m := range regexp.MustCompile(`--([\w-]+): (#[0-9a-f]{6});`).FindAllStringSubmatch(block, -1) {
			color[m[1]] = m[2]
		}
		check := func(a, b string, want float64) {
			t.Helper()
			if color[a] == "" || color[b] == "" {
				t.Fatalf("%s: the style sheet has no color %s or %s", name, a, b)
			}
			if got := contrast(color[a], color[b]); got < want {
				t.Errorf("%s: the contrast of %s %s and %s %s is %.2f, want at least %v", name, a, color[a], b, color[b], got, want)
			}
		}
		for _, on := range []string{"bg", "card", "row", "picked"} {
			check("ink", on, text)
			check("soft", on, text)
			check("accent", on, text)
		}
		for _, on := range []string{"bg", "card"} {
			check("mark", on, text)
			check("error", on, text)
			check("focus", on, drawn)
			check("edge", on, drawn)
		}
		for _, flame := range []string{"flame0", "flame1"} {
			check("flame-ink", flame, text)
		}
		check("flame-hit-ink", "flame-hit", text)
		for i := range 8 {
			check(fmt.Sprint("c", i), "card", drawn)
		}
		for i := range 5 {
			check(fmt.Sprint("heat", i), "card", drawn)
		}
	}
}

func contrast(a, b string) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// luminance returns the relative luminance of a color #rrggbb.
func luminance(color string) (sum float64) {
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(color[1+2*i:3+2*i], 16, 8)
		if err != nil {
			panic(err)
		}
		c := float64(n) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}
