package picture

import (
	"math"
	"strconv"
	"testing"
)

// colour is linear red, green and blue, each from 0 to 1.
type colour [3]float64

func parseColour(t *testing.T, hex string) (c colour) {
	t.Helper()
	n, err := strconv.ParseUint(hex[1:], 16, 32)
	if err != nil || len(hex) != 7 {
		t.Fatalf("%q is no colour", hex)
	}
	for i := range c {
		v := float64(n>>(16-8*i)&0xff) / 255
		if c[i] = v / 12.92; v > 0.04045 {
			c[i] = math.Pow((v+0.055)/1.055, 2.4)
		}
	}
	return c
}

func (c colour) luminance() float64 { return 0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2] }

// contrast is the ratio of WCAG, from 1 to 21.
func contrast(a, b colour) float64 {
	l, d := a.luminance(), b.luminance()
	return (max(l, d) + 0.05) / (min(l, d) + 0.05)
}

func themes(t *testing.T) map[string]map[string]colour {
	all := map[string]map[string]colour{"light": {}, "dark": {}}
	for _, k := range tokens {
		all["light"][k.name], all["dark"][k.name] = parseColour(t, k.light), parseColour(t, k.dark)
	}
	return all
}

func TestTokens_Contrast(t *testing.T) {
	for theme, c := range themes(t) {
		check := func(a, b string, least float64) {
			if got := contrast(c[a], c[b]); got < least {
				t.Errorf("%s: the contrast of %s on %s is %.2f, want at least %.1f", theme, a, b, got, least)
			}
		}
		for _, on := range []string{"ground", "frame", "box"} {
			check("ink", on, 4.5)
			check("muted", on, 4.5)
			check("line", on, 3)
		}
		for _, s := range states[1:] {
			check("ink", s.colour()+"-fill", 4.5)
			check("muted", s.colour()+"-fill", 4.5)
			check(s.colour(), s.colour()+"-fill", 3)
			check(s.colour(), "ground", 3)
		}
	}
}

// TestTokens_RedGreenBlindness simulates how people see the states who lack the cones for red or
// for green, with the matrices of Machado, Oliveira and Fernandes (2009).
func TestTokens_RedGreenBlindness(t *testing.T) {
	kinds := map[string][3]colour{
		"red":   {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
		"green": {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
	}
	main := []State{Running, Done, Asking, Failed}
	for theme, c := range themes(t) {
		for kind, m := range kinds {
			for i, a := range main {
				for _, b := range main[i+1:] {
					if got := distance(seen(c[string(a)], m), seen(c[string(b)], m)); got < 15 {
						t.Errorf("%s: without the cones for %s, %s and %s differ by %.1f, want at least 15", theme, kind, a, b, got)
					}
				}
			}
		}
	}
}

func seen(c colour, m [3]colour) (s colour) {
	for i, row := range m {
		s[i] = min(max(row[0]*c[0]+row[1]*c[1]+row[2]*c[2], 0), 1)
	}
	return s
}

// distance is how different two colours look: the distance in CIELAB, where about 2 can be seen.
func distance(a, b colour) float64 {
	x, y := lab(a), lab(b)
	return math.Hypot(math.Hypot(x[0]-y[0], x[1]-y[1]), x[2]-y[2])
}

func lab(c colour) colour {
	f := func(v float64) float64 {
		if v > 0.008856 {
			return math.Cbrt(v)
		}
		return 7.787*v + 16.0/116
	}
	x := f((0.4124*c[0] + 0.3576*c[1] + 0.1805*c[2]) / 0.95047)
	y := f(c.luminance())
	z := f((0.0193*c[0] + 0.1192*c[1] + 0.9505*c[2]) / 1.08883)
	return colour{116*y - 16, 500 * (x - y), 200 * (y - z)}
}
