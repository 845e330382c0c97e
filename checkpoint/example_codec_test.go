package checkpoint_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/state"
)

// save commits v as the state of a thread.
func save(store checkpoint.Store, schema *state.Schema, v state.View) {
	c, err := checkpoint.Open(context.Background(), store, checkpoint.Key{Thread: "t1"}, schema)
	if err != nil {
		fmt.Println(err)
		return
	}
	all := make([]bool, len(v.Channels))
	for i := range all {
		all[i] = true
	}
	if err := c.Commit(context.Background(), "1", &checkpoint.Record{Source: checkpoint.Input}, v, all); err != nil {
		fmt.Println(err)
	}
}

// A store whose values are encrypted. They cannot be read without the key.
func ExampleSealed() {
	type State struct {
		Diagnosis state.Value[string] `json:"diagnosis"`
	}
	disk := new(checkpoint.Memory)
	keys := &checkpoint.Keys{Current: "2026", Ring: map[string][]byte{"2026": checkpoint.NewKey()}}
	store, err := checkpoint.Sealed(disk, checkpoint.Codec{Keys: keys})
	if err != nil {
		fmt.Println(err)
		return
	}
	schema, _ := state.SchemaOf[State]()
	v := schema.New()
	v.State.(*State).Diagnosis.Set("a cold")
	save(store, schema, v)

	c, err := checkpoint.Open(context.Background(), store, checkpoint.Key{Thread: "t1"}, schema)
	fmt.Println(c.State.State.(*State).Diagnosis.Get(), err)
	_, err = checkpoint.Open(context.Background(), disk, checkpoint.Key{Thread: "t1"}, schema)
	fmt.Println(errors.Is(err, checkpoint.ErrKey))
	// Output:
	// a cold <nil>
	// true
}

// A field that was a text is a list now. Threads that were stored before go on.
func ExampleOpen_migration() {
	type Before struct {
		Author state.Value[string] `json:"author"`
	}
	type Now struct {
		Authors state.List[string] `json:"authors" weft:"version=2,was=author"`
	}
	store := new(checkpoint.Memory)
	before, _ := state.SchemaOf[Before]()
	v := before.New()
	v.State.(*Before).Author.Set("Ada")
	save(store, before, v)

	now, _ := state.SchemaOf[Now]()
	now, err := now.Migrating(map[string]state.Migration{
		"authors": func(from int, old json.RawMessage) (json.RawMessage, error) {
			return json.Marshal([]json.RawMessage{old})
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := checkpoint.Open(context.Background(), store, checkpoint.Key{Thread: "t1"}, now)
	fmt.Println(c.State.State.(*Now).Authors.Slice(), err)
	// Output: [Ada] <nil>
}

func ExampleSizes() {
	type State struct {
		Messages state.Value[string] `json:"messages"`
		Title    state.Value[string] `json:"title"`
	}
	store := new(checkpoint.Memory)
	schema, _ := state.SchemaOf[State]()
	v := schema.New()
	v.State.(*State).Messages.Set("a conversation that goes on for quite a while, as they do, and then for some more, and is about nothing at all")
	v.State.(*State).Title.Set("talk")
	save(store, schema, v)
	report, err := checkpoint.Sizes(context.Background(), store, "t1")
	fmt.Println(report, err)
	// Output:
	// thread "t1" takes 184 B
	// messages is 79 % of this thread: 145 B
	// title is 21 % of this thread: 39 B <nil>
}
