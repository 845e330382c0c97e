package refmodel

import (
	"fmt"
	"iter"

	"github.com/weftrun/weft/state"
)

// State is the state of every graph: Fields as channels.
type State struct {
	Value  state.Value[int]            `json:"value"`
	Mood   state.Value[int]            `json:"mood" weft:"turn,default=3"`
	Latest state.Latest[int]           `json:"latest"`
	List   state.List[int]             `json:"list"`
	Draft  state.List[int]             `json:"draft" weft:"turn"`
	Sum    state.Sum[int]              `json:"sum"`
	Tries  state.Sum[int]              `json:"tries" weft:"turn,default=7"`
	Max    state.Max[int]              `json:"max"`
	Min    state.Min[int]              `json:"min"`
	Map    state.Map[int, int]         `json:"map"`
	Set    state.Set[int]              `json:"set"`
	Spark  state.Ephemeral[int]        `json:"spark"`
	Topic  state.Topic[int]            `json:"topic"`
	Fold   state.Reduced[int, reducer] `json:"fold"`
	Laps   state.Map[int, int]         `json:"laps" weft:"turn"`
}

type reducer struct{}

func (reducer) Reduce(acc, n int) int { return reduce(acc, n) }

// Lap implements [Task].
func (s *State) Lap(n int) int { return s.Laps.Get(n) }

// Read implements [Task].
func (s *State) Read(field string) int {
	switch field {
	case "value":
		return one(s.Value.Lookup())
	case "mood":
		return one(s.Mood.Lookup())
	case "latest":
		return one(s.Latest.Lookup())
	case "list":
		return many(s.List.All())
	case "draft":
		return many(s.Draft.All())
	case "sum":
		return mix(0, s.Sum.Get())
	case "tries":
		return mix(0, s.Tries.Get())
	case "max":
		return one(s.Max.Lookup())
	case "min":
		return one(s.Min.Lookup())
	case "map":
		return pairs(s.Map.All())
	case "set":
		return keys(s.Set.All())
	case "spark":
		return one(s.Spark.Lookup())
	case "topic":
		return many(s.Topic.All())
	case "fold":
		if !s.Fold.Channel().Wrote() && s.Fold.String() == "null" {
			return 0
		}
		return mix(0, s.Fold.Get())
	case "laps":
		return pairs(s.Laps.All())
	}
	panic("refmodel: no field " + field)
}

func one(v int, ok bool) int {
	if !ok {
		return 0
	}
	return mix(0, v)
}

func many(all iter.Seq2[int, int]) (n int) {
	for _, v := range all {
		n = mix(n, v)
	}
	return n
}

func pairs(all iter.Seq2[int, int]) (n int) {
	for k, v := range all {
		n = mix(mix(n, k), v)
	}
	return n
}

// keys reads each element as the key and the value that it is in held.
func keys(all iter.Seq[int]) (n int) {
	for v := range all {
		n = mix(mix(n, v), v)
	}
	return n
}

// Write implements [Task].
func (s *State) Write(field, how string, key, n int) {
	type act struct{ write, overwrite, remove func() }
	acts := map[string]act{
		"value":  {func() { s.Value.Set(n) }, nil, s.Value.Clear},
		"mood":   {func() { s.Mood.Set(n) }, nil, s.Mood.Clear},
		"latest": {func() { s.Latest.Set(n) }, nil, s.Latest.Clear},
		"spark":  {func() { s.Spark.Set(n) }, nil, s.Spark.Clear},
		"topic":  {func() { s.Topic.Publish(n) }, nil, nil},
		"list":   {func() { s.List.Append(n) }, func() { s.List.Overwrite([]int{n}) }, nil},
		"draft":  {func() { s.Draft.Append(n) }, func() { s.Draft.Overwrite([]int{n}) }, nil},
		"sum":    {func() { s.Sum.Add(n) }, func() { s.Sum.Overwrite(n) }, nil},
		"tries":  {func() { s.Tries.Add(n) }, func() { s.Tries.Overwrite(n) }, nil},
		"max":    {func() { s.Max.Offer(n) }, func() { s.Max.Overwrite(n) }, nil},
		"min":    {func() { s.Min.Offer(n) }, func() { s.Min.Overwrite(n) }, nil},
		"fold":   {func() { s.Fold.Update(n) }, func() { s.Fold.Overwrite(n) }, nil},
		"set":    {func() { s.Set.Add(n % 8) }, func() { s.Set.Overwrite([]int{n % 8}) }, func() { s.Set.Remove(n % 8) }},
		"map":    {func() { s.Map.Put(key, n) }, func() { s.Map.Overwrite(map[int]int{key: n}) }, func() { s.Map.Delete(key) }},
		"laps":   {func() { s.Laps.Put(key, n) }, nil, nil},
	}
	do := map[string]func(){"write": acts[field].write, "overwrite": acts[field].overwrite, "remove": acts[field].remove}[how]
	if do == nil {
		panic(fmt.Sprintf("refmodel: cannot %s field %q", how, field))
	}
	do()
}
