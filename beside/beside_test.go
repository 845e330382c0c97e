package main

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	child()
	os.Exit(m.Run())
}

// The page is what render makes of the outcomes on it, so its text, its cases, its versions and its
// verdicts are those of the program. What is seen now must agree with it. On a busy machine a node
// may be late, so a disagreement counts if it is seen three times in turn.
func TestPage_IsWhatIsSeen(t *testing.T) {
	text, err := os.ReadFile(pageFile)
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	listed, note, err := parse(page)
	if err != nil {
		t.Fatalf("%s: %v", pageFile, err)
	}
	if want, err := render(listed, note); err != nil || want != page {
		t.Errorf("%s is not what the program writes (%v): run go run -C beside . -write", pageFile, err)
	}
	seen, err := observeAll(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		for _, r := range runtimes {
			if r.Programs[c.Name] == nil {
				continue
			}
			page := listed[c.Name][r.Name]
			if r.Version == "" {
				page = Seen{c.Want} // Weft
			}
			now, tries := seen[c.Name][r.Name], []Seen(nil)
			for !agree(c, page, now) {
				if tries = append(tries, now); len(tries) == 3 {
					t.Errorf("%s, %s: seen %q, and the page has %q", r.Name, c.Name, tries, page)
					break
				}
				if now, err = observe(t.Context(), r, c, 2); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// agree reports whether outcomes of a few runs fit those on the page: all are on it, or the page
// has other outcomes than the wanted one, as they have.
func agree(c Case, listed, seen Seen) bool {
	for _, outcome := range seen {
		if !slices.Contains(listed, outcome) && (outcome == c.Want || verdict(c, listed) == "yes") {
			return false
		}
	}
	return len(seen) > 0
}

func TestAgree_IsAboutTheWantedOutcome(t *testing.T) {
	c := Case{Want: "right"}
	for _, row := range []struct {
		listed, seen Seen
		want         bool
	}{
		{Seen{"right"}, Seen{"right"}, true},
		{Seen{"right"}, Seen{"wrong"}, false},
		{Seen{"wrong"}, Seen{"right"}, false},
		{Seen{"wrong"}, Seen{"wrong in another way"}, true},
		{Seen{"right", "wrong"}, Seen{"wrong in another way"}, true},
		{Seen{"right"}, nil, false},
	} {
		if got := agree(c, row.listed, row.seen); got != row.want {
			t.Errorf("listed %q, seen %q: %v, want %v", row.listed, row.seen, got, row.want)
		}
	}
}

func TestRuntimes_AreThoseOfGoMod(t *testing.T) {
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range runtimes {
		if r.Version == "" {
			continue
		}
		if _, err := time.Parse(time.DateOnly, r.Released); err != nil {
			t.Errorf("%s: %v", r.Name, err)
		}
		if !strings.Contains(string(mod), r.Module+" "+r.Version+"\n") {
			t.Errorf("go.mod has another version of %s than %s: change it, and the day of its release, and write the page", r.Module, r.Version)
		}
		for name := range r.Programs {
			if !slices.ContainsFunc(cases, func(c Case) bool { return c.Name == name }) {
				t.Errorf("%s has a program for %q, which is no case", r.Name, name)
			}
		}
	}
}

func TestBounded_SeesPanics(t *testing.T) {
	got, back := bounded(func(context.Context) string { panic("boom 0xc000123") })
	if want := "panics in the caller: boom …"; got != want || !back {
		t.Errorf("got %q, %v; want %q", got, back, want)
	}
}
