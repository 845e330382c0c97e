package verbs

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/cli/reports"
	"github.com/weftrun/weft/internal/suggest"
)

// whereKeys are the keys of --where that are not keys of the metadata.
const whereKeys = "thread, source, run, graph, program, turn, step, node, next, status, branch, pin"

// whereHelp describes --where, for the help of a verb.
const whereHelp = `--where KEY=VALUE selects what fits: ` + whereKeys + `,
or a key of the metadata. Of several all must fit, in one flag with commas or in several;
KEY!=VALUE selects what does not. A * ends the beginning of a thread's name.`

// condition is one condition of --where.
type condition struct {
	key, value string
	not        bool // the value must be another one
}

// matches reports whether a value is that of the condition. A prefix of a run's id is enough.
func (c condition) matches(value string) bool {
	start, isStart := strings.CutSuffix(c.value, "*")
	switch {
	case c.key == "thread" && isStart:
		return strings.HasPrefix(value, start)
	case c.key == "run" && c.value != "":
		return strings.HasPrefix(value, c.value)
	}
	return value == c.value
}

// terms are the conditions that --where takes.
type terms struct {
	keys    []string
	words   map[string][]string // the values of the keys that have only some
	numbers []string            // keys whose values are numbers
	more    bool                // other keys are those of the metadata
}

var threadTerms = terms{
	keys: strings.Split(whereKeys, ", "),
	words: map[string][]string{
		"status": {string(graph.Done), string(graph.Interrupted), string(graph.Failed), string(graph.Pending)},
		"source": {string(checkpoint.Input), string(checkpoint.Step), string(checkpoint.Update), string(checkpoint.Fork)},
	},
	numbers: []string{"turn", "step", "branch"},
	more:    true,
}

// parse reads the flags --where.
func (t terms) parse(flags []string) (all []condition, err error) {
	for _, flag := range flags {
		for _, term := range cutTerms(flag) {
			key, value, ok := strings.Cut(term, "=")
			key, not := strings.CutSuffix(key, "!")
			if !ok || key == "" {
				return nil, reports.Usage("write --where KEY=VALUE, such as "+t.example(), "the condition %q has no key", term)
			}
			c := condition{key, value, not}
			if err := t.check(c); err != nil {
				return nil, err
			}
			all = append(all, c)
		}
	}
	return all, nil
}

func (t terms) example() string {
	if t.more {
		return "node=review or status=done"
	}
	return "status=pending"
}

// cutTerms cuts a flag at the commas behind which a condition begins. Any other comma is part of a
// value.
func cutTerms(flag string) (cut []string) {
	for part := range strings.SplitSeq(flag, ",") {
		if key, _, ok := strings.Cut(part, "="); len(cut) > 0 && (!ok || key == "" || strings.ContainsAny(key, " \t{[\"'")) {
			cut[len(cut)-1] += "," + part
			continue
		}
		cut = append(cut, part)
	}
	return cut
}

// check returns an error for a key that is unknown, and for a value that nothing has.
func (t terms) check(c condition) error {
	if !t.more && !slices.Contains(t.keys, c.key) {
		return reports.Usage(didYouMean(c.key, t.keys, "the keys are "), "--where has no key %q", c.key)
	}
	if words := t.words[c.key]; words != nil && !slices.Contains(words, c.value) {
		return reports.Usage(didYouMean(c.value, words, "use one of "), "there is no %s %q", c.key, c.value)
	}
	if slices.Contains(t.numbers, c.key) {
		if _, err := strconv.ParseUint(c.value, 10, 64); err != nil {
			return reports.Usage("write "+c.key+"=1", "the %s of --where must be a number (got %q)", c.key, c.value)
		}
	}
	return nil
}

// didYouMean returns a hint with the known word that is most like another, and with all of them.
func didYouMean(word string, known []string, all string) string {
	all += strings.Join(known, ", ")
	if near := suggest.Nearest(word, known); near != "" {
		return "did you mean " + near + "? " + all
	}
	return all
}

// fits reports whether a checkpoint meets all conditions.
func fits(p graph.CommitInfo, where []condition) bool {
	return !slices.ContainsFunc(where, func(c condition) bool { return slices.ContainsFunc(valuesOf(p, c.key), c.matches) == c.not })
}

// valuesOf returns the values of a checkpoint for a key.
func valuesOf(p graph.CommitInfo, key string) []string {
	switch key {
	case "thread":
		return []string{p.Thread}
	case "node":
		return p.Nodes()
	case "next":
		return p.Next
	case "source":
		return []string{string(p.Source)}
	case "status":
		return []string{string(p.Status)}
	case "graph":
		return []string{p.Graph}
	case "program":
		return []string{p.Program}
	case "pin":
		return []string{p.Pin}
	case "turn":
		return []string{fmt.Sprint(p.Turn)}
	case "step":
		return []string{fmt.Sprint(p.Step)}
	case "branch":
		return []string{fmt.Sprint(p.Branch)}
	case "run":
		return []string{p.Run}
	}
	value, ok := p.Metadata[key]
	if !ok {
		return nil
	}
	return []string{value}
}

// wholeRun is the length of the id of a run. A store cannot search for a prefix of an id.
const wholeRun = len("00000000-0000-0000-0000-000000000000")

// labelsOf returns the conditions that a store can check by labels, and whether these are all
// conditions. The store checks only the first condition of a repeated key.
func labelsOf(where []condition) (labels map[string]string, whole bool) {
	whole = true
	for _, c := range where {
		_, twice := labels[c.key]
		beginning := c.key == "run" && len(c.value) < wholeRun
		if twice || beginning || c.not || slices.Contains([]string{"thread", "program", "pin", "node", "next", "status", "branch"}, c.key) {
			whole = false
			continue
		}
		if labels == nil {
			labels = map[string]string{}
		}
		labels[c.key] = c.value
	}
	return labels, whole
}

// threadsToRead is the number of threads that explainNone reads.
const threadsToRead = 1000

// explainNone returns an error if no thread fits because of a key that no thread has. It looks at
// the first threads of the store.
func (a *app) explainNone(ctx context.Context, store checkpoint.Store, where []condition) error {
	known := map[string]bool{}
	for _, key := range threadTerms.keys {
		known[key] = true
	}
	for p, err := range graph.Threads(ctx, store, checkpoint.ThreadQuery{Limit: threadsToRead}) {
		if err != nil {
			return err
		}
		for key := range p.Metadata {
			known[key] = true
		}
	}
	names := slices.Sorted(maps.Keys(known))
	for _, c := range where {
		if known[c.key] {
			continue
		}
		return reports.Usage(didYouMean(c.key, names, "the keys are "), "no thread has the key %q", c.key)
	}
	return nil
}
