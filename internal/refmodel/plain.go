package refmodel

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
)

// plain is a state: what each field holds.
type plain map[string]held

// held is what one field holds: a sequence, where a single value is one of length one, or
// a table.
type held struct {
	seq   []int
	table map[int]int
}

// write is one write of a task.
type write struct {
	field, how string
	key, n     int
}

func newPlain() plain {
	p := plain{}
	for _, f := range Fields {
		p[f.Name] = f.initial()
	}
	return p
}

func (f Field) initial() held {
	if f.Kind == "sum" || f.Default != 0 {
		return held{seq: []int{f.Default}}
	}
	return held{}
}

// oneStep reports whether what the field holds is gone after the step that reads it.
func (f Field) oneStep() bool { return f.Kind == "ephemeral" || f.Kind == "topic" }

// with returns what a field of this kind holds after a write.
func (f Field) with(h held, w write) held {
	table := maps.Clone(h.table)
	if table == nil || w.how == "overwrite" {
		table = map[int]int{}
	}
	if w.how == "overwrite" {
		h.seq = nil
	}
	key := w.key
	if f.Kind == "set" {
		key, w.n = w.n%8, w.n%8
	}
	switch f.Kind {
	case "value", "latest", "ephemeral":
		if w.how == "remove" {
			return held{}
		}
		return held{seq: []int{w.n}}
	case "list", "topic":
		return held{seq: append(slices.Clone(h.seq), w.n)}
	case "sum":
		return held{seq: []int{first(h.seq) + w.n}}
	case "max":
		return held{seq: []int{slices.Max(append(slices.Clone(h.seq), w.n))}}
	case "min":
		return held{seq: []int{slices.Min(append(slices.Clone(h.seq), w.n))}}
	case "reduced":
		if w.how == "overwrite" {
			return held{seq: []int{w.n}}
		}
		return held{seq: []int{reduce(first(h.seq), w.n)}}
	}
	table[key] = w.n
	if w.how == "remove" {
		delete(table, key)
	}
	return held{table: table}
}

// reduce is a merge in which the order counts.
func reduce(acc, n int) int { return (acc*3 + n) % modulus }

func first(seq []int) int {
	if len(seq) == 0 {
		return 0
	}
	return seq[0]
}

// folded returns the value of a field after the writes of a step, task by task. ok is false if the
// writes conflict.
func (f Field) folded(h held, tasks [][]write) (_ held, ok bool) {
	var wrote, overwrote [][]write
	for _, all := range tasks {
		var own []write
		for _, w := range all {
			if w.field == f.Name {
				own = append(own, w)
			}
		}
		if len(own) > 0 {
			wrote = append(wrote, own)
		}
		if slices.ContainsFunc(own, func(w write) bool { return w.how == "overwrite" }) {
			overwrote = append(overwrote, own)
		}
	}
	if (f.Kind == "value" || f.Kind == "ephemeral") && len(wrote) > 1 || len(overwrote) > 1 {
		return h, false
	}
	if len(overwrote) == 1 {
		wrote = overwrote
	}
	if f.oneStep() {
		h = held{}
	}
	for _, own := range wrote {
		for _, w := range own {
			h = f.with(h, w)
		}
	}
	return h, true
}

// merge folds the writes of tasks into the state, or leaves it as it is.
func (p plain) merge(tasks [][]write) bool {
	next := plain{}
	for _, f := range Fields {
		h, ok := f.folded(p[f.Name], tasks)
		if !ok {
			return false
		}
		next[f.Name] = h
	}
	maps.Copy(p, next)
	return true
}

// reading is the number that Task.Read returns.
func (h held) reading() int {
	n := 0
	for _, x := range h.seq {
		n = mix(n, x)
	}
	for _, k := range slices.Sorted(maps.Keys(h.table)) {
		n = mix(mix(n, k), h.table[k])
	}
	return n
}

// encode returns the state as JSON, without the fields that hold nothing.
func (p plain) encode() string {
	out := map[string]any{}
	for _, f := range Fields {
		h := p[f.Name]
		switch f.Kind {
		case "list", "topic":
			out[f.Name] = append([]int{}, h.seq...)
		case "set":
			out[f.Name] = append([]int{}, slices.Sorted(maps.Keys(h.table))...)
		case "map":
			entries := map[string]int{}
			for k, v := range h.table {
				entries[strconv.Itoa(k)] = v
			}
			out[f.Name] = entries
		default:
			if len(h.seq) > 0 {
				out[f.Name] = h.seq[0]
			}
		}
	}
	data, err := json.Marshal(out)
	if err != nil {
		panic(err)
	}
	return string(data)
}
