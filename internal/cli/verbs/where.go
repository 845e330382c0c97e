package verbs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/cli/reports"
)

// whereKeys are the keys of --where that are not the metadata's.
const whereKeys = "source, run, graph, turn, step, node, next, status, branch"

// condition is what --where asks for.
type condition struct{ key, value string }

func parseWhere(flags []string) (all []condition, err error) {
	for _, flag := range flags {
		key, value, ok := strings.Cut(flag, "=")
		if !ok || key == "" {
			return nil, reports.Usage("write --where KEY=VALUE, such as node=review or status=done", "the condition %q has no key", flag)
		}
		all = append(all, condition{key, value})
	}
	return all, nil
}

// fits reports whether a checkpoint meets all conditions. Of a run's id the beginning is enough.
func fits(p graph.CommitInfo, where []condition) bool {
	return !slices.ContainsFunc(where, func(c condition) bool {
		return !slices.Contains(valuesOf(p, c.key), c.value) && (c.key != "run" || c.value == "" || !strings.HasPrefix(p.Run, c.value))
	})
}

// valuesOf returns what a checkpoint has under a key.
func valuesOf(p graph.CommitInfo, key string) []string {
	switch key {
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

// wholeRun is the length of the id of a run; of a shorter one the store cannot look for what begins so.
const wholeRun = len("00000000-0000-0000-0000-000000000000")

// labelsOf returns what a store is to look for itself, since it has these as labels, and
// whether that is all. A key that comes twice is looked for once.
func labelsOf(where []condition) (labels map[string]string, whole bool) {
	whole = true
	for _, c := range where {
		_, twice := labels[c.key]
		beginning := c.key == "run" && len(c.value) < wholeRun
		if twice || beginning || slices.Contains([]string{"node", "next", "status", "branch"}, c.key) {
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
