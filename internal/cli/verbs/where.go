package verbs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/cli/reports"
)

// whereKeys are the keys of --where that are not keys of the metadata.
const whereKeys = "source, run, graph, turn, step, node, next, status, branch"

// condition is one condition of --where.
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

// fits reports whether a checkpoint meets all conditions. A prefix of a run's id is enough.
func fits(p graph.CommitInfo, where []condition) bool {
	return !slices.ContainsFunc(where, func(c condition) bool {
		return !slices.Contains(valuesOf(p, c.key), c.value) && (c.key != "run" || c.value == "" || !strings.HasPrefix(p.Run, c.value))
	})
}

// valuesOf returns the values of a checkpoint for a key.
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

// wholeRun is the length of the id of a run. A store cannot search for a prefix of an id.
const wholeRun = len("00000000-0000-0000-0000-000000000000")

// labelsOf returns the conditions that a store can check by labels, and whether these are all
// conditions. The store checks only the first condition of a repeated key.
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
