package cli

import (
	"fmt"
	"maps"
	"slices"
	"text/tabwriter"
)

// step is something to do next.
type step struct {
	Command string `json:"command"`
	About   string `json:"about"`
}

// steps are what one may want to do first.
func (a *app) steps() []step {
	all := []step{{a.command("new", "DIR"), "begin a workflow from a template"}, {a.command("run", "FILE"), "run a workflow, or go on with it"}}
	for _, name := range slices.Sorted(maps.Keys(a.Graphs)) {
		all = append(all, step{a.command("run", name), "run a graph of this program"})
	}
	for _, name := range slices.Sorted(maps.Keys(a.Chats)) {
		all = append(all, step{a.command("chat", name), "talk with an agent"})
	}
	return append(all, step{a.command("inbox"), "what waits for a person"}, step{a.command("threads"), "what there is"},
		step{a.command("doctor"), "whether the store is set up well"}, step{a.as + " --help", "all commands"})
}

// menu is the answer to a command line without a verb.
func (a *app) menu() error {
	if a.json {
		return a.printJSON(map[string][]step{"next": a.steps()})
	}
	fmt.Fprintf(a.Stdout, "%s runs workflows that survive a crash and wait for people. Next:\n\n", a.Name)
	w := tabwriter.NewWriter(a.Stdout, 0, 8, 3, ' ', 0)
	for _, s := range a.steps() {
		fmt.Fprintf(w, "  %s\t%s\n", s.Command, s.About)
	}
	return w.Flush()
}
