package pes

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Plan is a list of items to be executed.
type Plan struct {
	Goal  string `json:"goal,omitempty" jsonschema:"what all items together are to achieve"`
	Items []Item `json:"items" jsonschema:"what is to be done; items that wait for nothing are done side by side"`
}

// Item is one part of a plan.
type Item struct {
	ID        string   `json:"id" jsonschema:"a short name that no other item has"`
	Task      string   `json:"description" jsonschema:"what is to be done, understandable without the conversation"`
	Expected  string   `json:"expected_outcome,omitempty" jsonschema:"what is there when it is done"`
	DependsOn []string `json:"depends_on,omitempty" jsonschema:"ids of the items whose results it needs"`
	// RequiredTools are names of tools in Config.Tools. A plan with other names is not executed.
	RequiredTools []string `json:"required_tools,omitempty" jsonschema:"names of the tools without which it cannot be done"`
}

// item returns the item with an ID.
func (p Plan) item(id string) (Item, bool) {
	i := slices.IndexFunc(p.Items, func(i Item) bool { return i.ID == id })
	if i < 0 {
		return Item{}, false
	}
	return p.Items[i], true
}

// PlanError is returned when the planner has made no valid plan, and when a plan is stuck because
// each pending item waits for one that cannot complete.
type PlanError struct {
	Plans    int      // the number of plans of this turn
	Problems []string // of the last plan
	Stuck    bool     // the plan was valid; Problems has what each item waits for
}

func (e *PlanError) Error() string {
	if e.Stuck {
		return "pes: the plan cannot continue: " + strings.Join(e.Problems, "; ")
	}
	return fmt.Sprintf("pes: none of %d plans is valid; the last: %s", e.Plans, strings.Join(e.Problems, "; "))
}

// Code returns the error code, which is stored with the failure.
func (e *PlanError) Code() string { return "plan" }

// Check returns all problems of a plan. The plan must have items, at most `most` of them unless
// most is 0. Each item must have a description and an ID of its own. Dependencies must exist and
// have no cycle.
func (p Plan) Check(most int) (problems []string) {
	fail := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	if len(p.Items) == 0 {
		fail("it has no items")
	}
	if most > 0 && len(p.Items) > most {
		fail("it must have at most %d items (got %d)", most, len(p.Items))
		return problems // checking a large plan further is slow
	}
	first := map[string]int{}
	for n, i := range p.Items {
		if i.ID == "" {
			fail("item %d has no id", n+1)
		} else if at, taken := first[i.ID]; taken {
			fail("item %d has the id %q, which is that of item %d", n+1, i.ID, at)
		} else {
			first[i.ID] = n + 1
		}
		if strings.TrimSpace(i.Task) == "" {
			fail("item %d, %q, has no description", n+1, i.ID)
		}
	}
	for _, i := range p.Items {
		for _, on := range i.DependsOn {
			if first[on] == 0 {
				fail("item %q depends on %q, which does not exist", i.ID, on)
			}
		}
	}
	if loop := p.circle(); len(loop) > 0 {
		fail("items wait for each other: %s", strings.Join(loop, ", "))
	}
	return problems
}

// checkTools returns the tools that items require and that do not exist.
func checkTools(items []Item, have []string) (problems []string) {
	there := "there are none"
	if len(have) > 0 {
		there = "there are: " + strings.Join(have, ", ")
	}
	for _, i := range items {
		for _, name := range i.RequiredTools {
			if !slices.Contains(have, name) {
				problems = append(problems, fmt.Sprintf("item %q requires the tool %q, which does not exist; %s", i.ID, name, there))
			}
		}
	}
	return problems
}

// circle returns the items that are in a cycle or depend on one. Unknown dependencies are ignored.
func (p Plan) circle() (ids []string) {
	known, done := map[string]bool{}, map[string]bool{}
	waits := map[string]int{}      // the number of items that an item waits for
	waiting := map[string][]Item{} // the items that wait for an item, by its ID
	for _, i := range p.Items {
		known[i.ID] = true
	}
	var ready []string
	for _, i := range p.Items {
		for _, on := range i.DependsOn {
			if known[on] {
				waits[i.ID]++
				waiting[on] = append(waiting[on], i)
			}
		}
	}
	for _, i := range p.Items {
		if waits[i.ID] == 0 {
			ready = append(ready, i.ID)
		}
	}
	for len(ready) > 0 {
		id := ready[0]
		ready = ready[1:]
		if done[id] {
			continue
		}
		done[id] = true
		for _, i := range waiting[id] {
			if waits[i.ID]--; waits[i.ID] == 0 {
				ready = append(ready, i.ID)
			}
		}
	}
	for _, i := range p.Items {
		if !done[i.ID] {
			ids = append(ids, fmt.Sprintf("%q", i.ID))
		}
	}
	return ids
}

// Changes are the differences between two plans.
type Changes struct {
	Added, Removed []Item
	Modified       []Modified
}

// Modified is an item before and after.
type Modified struct{ Before, After Item }

// Diff returns the differences between two plans, by the IDs of the items. The order of items does
// not matter.
func Diff(before, after Plan) (c Changes) {
	for _, i := range after.Items {
		switch old, ok := before.item(i.ID); {
		case !ok:
			c.Added = append(c.Added, i)
		case !same(old, i):
			c.Modified = append(c.Modified, Modified{old, i})
		}
	}
	for _, i := range before.Items {
		if _, ok := after.item(i.ID); !ok {
			c.Removed = append(c.Removed, i)
		}
	}
	return c
}

func same(a, b Item) bool {
	if len(a.DependsOn)+len(b.DependsOn) == 0 {
		a.DependsOn, b.DependsOn = nil, nil
	}
	if len(a.RequiredTools)+len(b.RequiredTools) == 0 {
		a.RequiredTools, b.RequiredTools = nil, nil
	}
	return reflect.DeepEqual(a, b)
}

// None reports whether there is no difference.
func (c Changes) None() bool { return len(c.Added)+len(c.Removed)+len(c.Modified) == 0 }

// String returns a line for each change, such as "+ buy: buy bread".
func (c Changes) String() string {
	var b strings.Builder
	for _, i := range c.Added {
		fmt.Fprintf(&b, "+ %s: %s\n", i.ID, i.Task)
	}
	for _, m := range c.Modified {
		fmt.Fprintf(&b, "~ %s: %s\n", m.After.ID, m.After.Task)
	}
	for _, i := range c.Removed {
		fmt.Fprintf(&b, "- %s: %s\n", i.ID, i.Task)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// refined returns the next plan of a thread: completed items unchanged, then the items of the new
// plan. An item with the ID of a completed item, and the same task or no task, is that item. An
// item with another task is new and gets another ID, which replaces the old one in the dependencies
// of the new plan.
func refined(todo []Todo, p Plan) Plan {
	out, taken := Plan{Goal: p.Goal}, map[string]bool{}
	for _, t := range todo {
		if t.Status == Completed {
			out.Items, taken[t.ID] = append(out.Items, t.Item), true
		}
	}
	done := len(out.Items)
	for _, i := range p.Items {
		taken[i.ID] = true
	}
	renamed := map[string]string{}
	for _, i := range p.Items {
		old, ok := completedAs(out.Items[:done], i)
		switch {
		case ok:
			renamed[i.ID] = old
			continue
		case slices.ContainsFunc(out.Items[:done], func(t Item) bool { return t.ID == i.ID }):
			if renamed[i.ID] == "" {
				renamed[i.ID] = free(i.ID, taken)
			}
		}
		out.Items = append(out.Items, i)
	}
	for n := range out.Items[done:] {
		out.Items[done+n] = out.Items[done+n].under(renamed)
	}
	return out
}

// completedAs returns the ID of the completed item that i is: one with the same ID, or one that an
// earlier plan named so.
func completedAs(done []Item, i Item) (id string, ok bool) {
	for _, t := range done {
		number, named := strings.CutPrefix(t.ID, i.ID+"-")
		if _, err := strconv.Atoi(number); t.ID == i.ID && words(i.Task) == "" || (t.ID == i.ID || named && err == nil) && words(i.Task) == words(t.Task) {
			return t.ID, true
		}
	}
	return "", false
}

// words normalizes a text for comparison.
func words(text string) string {
	return strings.TrimRight(strings.ToLower(strings.Join(strings.Fields(text), " ")), ".!")
}

// free returns the first of id-2, id-3 and so on that is not in use, and marks it as used.
func free(id string, taken map[string]bool) string {
	for n := 2; ; n++ {
		if next := fmt.Sprintf("%s-%d", id, n); !taken[next] {
			taken[next] = true
			return next
		}
	}
}

// under returns an item with renamed IDs. A dependency on the item's own old ID means the completed
// item.
func (i Item) under(renamed map[string]string) Item {
	own := i.ID
	i.DependsOn = slices.Clone(i.DependsOn)
	for n, on := range i.DependsOn {
		if next := renamed[on]; next != "" && on != own {
			i.DependsOn[n] = next
		}
	}
	if next := renamed[own]; next != "" {
		i.ID = next
	}
	return i
}
