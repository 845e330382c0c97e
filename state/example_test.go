package state_test

import (
	"encoding/json"
	"fmt"

	"github.com/weftrun/weft/state"
)

// Article is the state of a small graph.
type Article struct {
	Question state.Value[string]       `json:"question"`
	Facts    state.List[string]        `json:"facts"`
	Rounds   state.Sum[int]            `json:"rounds" weft:"turn"`
	Sources  state.Map[string, string] `json:"sources"`
}

// Search is a node: a function of a state.
func Search(s *Article) {
	s.Facts.Append("a fact about " + s.Question.Get())
	s.Sources.Put("a", "https://example.com")
	s.Rounds.Add(1)
}

// A node is tested on a plain variable, without any runtime.
func Example() {
	s := Article{Question: state.Of("weaving")}
	Search(&s)
	Search(&s)
	fmt.Println(s.Facts.Len(), s.Facts.At(0), s.Rounds.Get())
	data, _ := json.Marshal(s.Sources)
	fmt.Println(string(data))
	// Output:
	// 2 a fact about weaving 2
	// {"a":"https://example.com"}
}

// The schema is what a runtime sees of a state: it hands out views, and folds what
// was written to them.
func ExampleSchema() {
	schema, err := state.SchemaOf[Article]()
	if err != nil {
		fmt.Println(err)
		return
	}
	run, a, b := schema.New(), schema.New(), schema.New()
	Search(a.State.(*Article))
	Search(b.State.(*Article))
	for i, c := range run.Channels {
		var writes []state.Channel
		for _, view := range []state.View{a, b} {
			if view.Channels[i].Wrote() {
				writes = append(writes, view.Channels[i])
			}
		}
		if len(writes) > 0 {
			_ = c.Fold(writes)
		}
	}
	data, _ := schema.Encode(run)
	fmt.Println(string(data))
	// Output:
	// {"facts":["a fact about ","a fact about "],"rounds":2,"sources":{"a":"https://example.com"}}
}

// Longest is a reducer: of two strings it keeps the longer one.
type Longest struct{}

func (Longest) Reduce(acc, update string) string {
	if len(update) > len(acc) {
		return update
	}
	return acc
}

func ExampleReduced() {
	var title state.Reduced[string, Longest]
	title.Update("Looms")
	title.Update("Looms and their weavers")
	title.Update("Weft")
	fmt.Println(title.Get())
	// Output: Looms and their weavers
}
