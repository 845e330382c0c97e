package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

const intro = `# Counter-examples

Each case below is a small graph at which a graph runtime for agents, of whatever author, may go
wrong. One program puts the cases to Weft and to other runtimes in Go, and writes this page. What a
runtime did is counted by the nodes themselves, beside its state, and no outcome is written by hand.

The cases are those that Weft is tested with, so the choice favours it; other runtimes have features
that no case asks for. A case that the API of a runtime cannot say is no failure: the page gives the
reason. If a program here is not how the authors of a runtime would write it, that is a mistake of
this page.

` + "```sh" + `
go run -C beside . -write   # runs each program 20 times in a process of its own
go test -C beside .         # compares a few runs with this page
` + "```" + `

`

const (
	notRun = "Microsoft's Agent Framework for Go is not here, because the module proxy that was used has no version of it. " +
		"Neither are runtimes in other languages. No case needs a server, so the stores are in memory, and the history of a thread that expires in Redis is not here."
	tableNotes = "**yes** is the wanted outcome in every run, **varies** in some of the runs, **no** in none; " +
		"**–** means that the case cannot be said."
)

// render returns the page. seen are the outcomes of the programs; note names the day of the runs.
func render(seen table, note string) (string, error) {
	var b strings.Builder
	b.WriteString(intro)
	b.WriteString("| runtime | module | version | released |\n|---|---|---|---|\n")
	for _, r := range runtimes {
		version, released := r.Version, r.Released
		if r.Version == "" {
			version, released = "this tree", "not yet"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", r.Name, r.Module, version, released)
	}
	fmt.Fprintf(&b, "\n%s\n\n%s\n\n", note, wrap(notRun))
	b.WriteString("| case |")
	for _, r := range runtimes {
		fmt.Fprintf(&b, " %s |", r.Name)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(runtimes)) + "\n")
	for _, c := range cases {
		fmt.Fprintf(&b, "| [%s](#%s) |", c.Name, strings.ReplaceAll(c.Name, " ", "-"))
		for _, r := range runtimes {
			fmt.Fprintf(&b, " %s |", verdict(c, seen[c.Name][r.Name]))
		}
		b.WriteString("\n")
	}
	b.WriteString("\n" + wrap(tableNotes) + "\n\n")
	for _, r := range runtimes {
		if r.About != "" {
			b.WriteString(wrap(r.Name+": "+r.About) + "\n\n")
		}
	}
	for i, c := range cases {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "## %s\n\n%s\n\n%s\n\n", c.Name, wrap(c.Asks), wrap("Rule: "+c.Law))
		fmt.Fprintf(&b, "| runtime | seen |\n|---|---|\n| wanted | `%s` |\n", c.Want)
		for _, r := range runtimes {
			if r.Programs[c.Name] == nil {
				if r.Cannot[c.Name] == "" {
					return "", fmt.Errorf("%s has neither a program for %q nor a reason", r.Name, c.Name)
				}
				fmt.Fprintf(&b, "| %s | cannot be said: %s |\n", r.Name, r.Cannot[c.Name])
				continue
			}
			row := strings.Join(seen[c.Name][r.Name], "`<br>`")
			if note := r.Notes[c.Name]; note != "" {
				row += "`<br>" + note
			} else {
				row += "`"
			}
			fmt.Fprintf(&b, "| %s | `%s |\n", r.Name, row)
		}
	}
	return b.String(), nil
}

// verdict is the cell of the first table.
func verdict(c Case, seen Seen) string {
	switch {
	case len(seen) == 0:
		return "–"
	case !slices.Contains(seen, c.Want):
		return "no"
	case len(seen) > 1:
		return "varies"
	}
	return "yes"
}

// seenOn is the line of the page that names the day of the runs.
func seenOn(day time.Time, goVersion string, times int) string {
	return fmt.Sprintf("Seen on %s with %s, in at most %d runs of each program.", day.UTC().Format(time.DateOnly), goVersion, times)
}

// parse reads the outcomes and the day from a page that render has made.
func parse(page string) (seen table, note string, err error) {
	seen = table{}
	about := ""
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "## "); ok {
			about = name
			seen[about] = map[string]Seen{}
		}
		if strings.HasPrefix(line, "Seen on ") {
			note = line
		}
		cells := strings.SplitN(strings.Trim(line, "|"), "|", 2)
		if about == "" || len(cells) != 2 || !strings.HasPrefix(line, "| ") {
			continue
		}
		for part := range strings.SplitSeq(strings.TrimSpace(cells[1]), "<br>") {
			if outcome, ok := strings.CutPrefix(part, "`"); ok {
				name := strings.TrimSpace(cells[0])
				seen[about][name] = append(seen[about][name], strings.TrimSuffix(outcome, "`"))
			}
		}
	}
	if note == "" || len(seen) == 0 {
		return nil, "", errors.New("it is not a page of this program")
	}
	return seen, note, nil
}

// wrap breaks a text into lines of at most 100 columns.
func wrap(text string) string {
	var b strings.Builder
	column := 0
	for _, word := range strings.Fields(text) {
		n := len([]rune(word))
		switch {
		case column == 0:
		case column+1+n > 100:
			b.WriteString("\n")
			column = 0
		default:
			b.WriteString(" ")
			column++
		}
		b.WriteString(word)
		column += n
	}
	return b.String()
}
