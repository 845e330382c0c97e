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
// verdicts are those of the program. Each outcome that a run has now must be on it. What a runtime
// does by chance may be on the page and not be seen in these few runs.
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
			for _, outcome := range seen[c.Name][r.Name] {
				if r.Version != "" && !slices.Contains(listed[c.Name][r.Name], outcome) {
					t.Errorf("%s, %s: seen %q, which is not on the page", r.Name, c.Name, outcome)
				}
				if r.Version == "" && outcome != c.Want {
					t.Errorf("%s, %s: seen %q, want %q", r.Name, c.Name, outcome, c.Want)
				}
			}
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
