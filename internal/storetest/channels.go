package storetest

import (
	"fmt"
	"slices"

	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/message"
	"github.com/weftrun/weft/state/record"
)

// channels is the state of the graphs of [Growth]: a field of each channel type.
type channels struct {
	Value     state.Value[int]         `json:"value"`
	Latest    state.Latest[int]        `json:"latest"`
	Ephemeral state.Ephemeral[int]     `json:"ephemeral"`
	Untracked state.Untracked[int]     `json:"untracked"`
	Once      state.Once[int]          `json:"once"`
	Sum       state.Sum[int]           `json:"sum"`
	Max       state.Max[int]           `json:"max"`
	Min       state.Min[int]           `json:"min"`
	Reduced   state.Reduced[int, plus] `json:"reduced"`
	Topic     state.Topic[string]      `json:"topic"`
	List      state.List[string]       `json:"list"`
	Stack     state.Stack[string]      `json:"stack"`
	Set       state.Set[string]        `json:"set"`
	Map       state.Map[string, int]   `json:"map"`
	Contexts  state.ContextData        `json:"contexts"`
	Log       message.Log              `json:"log"`
}

// plus is the reducer of a sum.
type plus struct{}

func (plus) Reduce(acc, update int) int { return acc + update }

// growth is one way to write to a channel: seed fills it with n entries, and is nil where it has
// one value; step is what a node does in step i, with the same number of bytes each time.
type growth[S any] struct {
	channel string // the type, as state.Map; of a field of a Record, its kind or its type
	does    string
	single  bool // it takes one write a step
	seed    func(s *S, n int) error
	step    func(s *S, i int) error
}

func (g growth[S]) String() string { return g.channel + ", " + g.does }

// adds and removes report whether a step makes the entries one more or one less.
func (g growth[S]) adds() bool {
	return slices.Contains([]string{"append", "prepend", "put", "add"}, g.does)
}
func (g growth[S]) removes() bool { return g.does == "delete" || g.does == "remove" }

// fill makes the writes of seed.
func (g growth[S]) fill(s *S, n int) error {
	if g.seed == nil {
		return nil
	}
	return g.seed(s, n)
}

func key(i int) string { return fmt.Sprintf("key %08d", i) }

// added returns the key of what step i adds.
func added(i int) string { return key(50_000_000 + i) }

func said(i int) message.Message {
	m := message.User("a message with a few words")
	m.ID = key(i)
	return m
}

// each returns a seed that calls f for each entry.
func each(f func(s *channels, i int) error) func(*channels, int) error {
	return func(s *channels, n int) error {
		for i := range n {
			if err := f(s, i); err != nil {
				return err
			}
		}
		return nil
	}
}

// does returns f, which cannot fail.
func does(f func(s *channels, i int)) func(*channels, int) error {
	return func(s *channels, i int) error { f(s, i); return nil }
}

func putContext(s *channels, id string) error {
	return s.Contexts.Put("order", id, state.ContextEntry{Fields: `{"what":"a thing that is known"}`})
}

var (
	seedList = each(does(func(s *channels, i int) { s.List.Append(key(i)) }))
	seedSet  = each(does(func(s *channels, i int) { s.Set.Add(key(i)) }))
	seedMap  = each(does(func(s *channels, i int) { s.Map.Put(key(i), 1000+i) }))
	seedData = each(func(s *channels, i int) error { return putContext(s, key(i)) })
	seedLog  = each(func(s *channels, i int) error { return s.Log.Add(said(i)) })
)

var growths = []growth[channels]{
	{"state.Value", "set", true, nil, does(func(s *channels, i int) { s.Value.Set(1000 + i) })},
	{"state.Latest", "set", false, nil, does(func(s *channels, i int) { s.Latest.Set(1000 + i) })},
	{"state.Ephemeral", "set", true, nil, does(func(s *channels, i int) { s.Ephemeral.Set(1000 + i) })},
	{"state.Untracked", "set", true, nil, does(func(s *channels, i int) { s.Untracked.Set(1000 + i) })},
	{"state.Once", "overwrite", true, nil, does(func(s *channels, i int) { s.Once.Overwrite(1000 + i) })},
	{"state.Sum", "add", false, nil, does(func(s *channels, i int) { s.Sum.Add(1000 + i) })},
	{"state.Max", "offer", false, nil, does(func(s *channels, i int) { s.Max.Offer(1000 + i) })},
	{"state.Min", "offer", false, nil, does(func(s *channels, i int) { s.Min.Offer(-1000 - i) })},
	{"state.Reduced", "update", false, nil, does(func(s *channels, i int) { s.Reduced.Update(1) })},
	{"state.Topic", "publish", false, nil, does(func(s *channels, i int) { s.Topic.Publish(added(i)) })},
	{"state.List", "append", false, seedList, does(func(s *channels, i int) { s.List.Append(added(i)) })},
	{"state.Stack", "prepend", false, each(does(func(s *channels, i int) { s.Stack.Prepend(key(i)) })),
		does(func(s *channels, i int) { s.Stack.Prepend(added(i)) })},
	{"state.Set", "add", false, seedSet, does(func(s *channels, i int) { s.Set.Add(added(i)) })},
	{"state.Set", "remove", false, seedSet, does(func(s *channels, i int) { s.Set.Remove(key(i)) })},
	{"state.Map", "put", false, seedMap, does(func(s *channels, i int) { s.Map.Put(added(i), 1000) })},
	{"state.Map", "replace", false, seedMap, does(func(s *channels, i int) { s.Map.Put(key(i), 1000) })},
	{"state.Map", "delete", false, seedMap, does(func(s *channels, i int) { s.Map.Delete(key(i)) })},
	{"state.Map", "delete what is absent", false, seedMap, does(func(s *channels, i int) { s.Map.Delete(added(i)) })},
	{"state.ContextData", "put", false, seedData, func(s *channels, i int) error { return putContext(s, added(i)) }},
	{"state.ContextData", "replace", false, seedData, func(s *channels, i int) error {
		return s.Contexts.Put("order", key(i), state.ContextEntry{Fields: `{"what":"a thing that is new"}`})
	}},
	{"state.ContextData", "delete", false, seedData, does(func(s *channels, i int) { s.Contexts.Delete("order", key(i)) })},
	{"message.Log", "add", false, seedLog, func(s *channels, i int) error { return s.Log.Add(said(50_000_000 + i)) }},
	{"message.Log", "add without an id", false, seedLog, func(s *channels, i int) error { return s.Log.Add(message.User(added(i))) }},
	{"message.Log", "upsert", false, seedLog, func(s *channels, i int) error { return s.Log.Add(said(i)) }},
	{"message.Log", "look up and replace", false, seedLog, func(s *channels, i int) error {
		if _, ok := s.Log.ByID(key(i)); !ok {
			return fmt.Errorf("message %d is lost", i)
		}
		return s.Log.Replace(key(i), said(50_000_000+i))
	}},
	{"message.Log", "remove", false, seedLog, func(s *channels, i int) error { return s.Log.Remove(key(i)) }},
	{"message.Log", "remove all and add", true, seedLog, func(s *channels, i int) error {
		s.Log.RemoveAll()
		return s.Log.Add(said(i))
	}},
}

// recordGrowth is growth of a field of a Record, which has the name of its channel. Writes are
// plain values.
type recordGrowth struct {
	field  record.Field
	typ    string
	does   string
	single bool
	seed   func(i int) any // entry i; nil where there are none
	step   func(i int) any
}

var foreignLog, foreignContexts = record.ForeignOf[message.Log](), record.ForeignOf[state.ContextData]()

var recordGrowths = []recordGrowth{
	{record.Field{Kind: state.KindValue}, "int", "set", true, nil, number},
	{record.Field{Kind: state.KindLatest}, "int", "set", false, nil, number},
	{record.Field{Kind: state.KindEphemeral}, "int", "set", true, nil, number},
	{record.Field{Kind: state.KindUntracked}, "int", "set", true, nil, number},
	{record.Field{Kind: state.KindOnce}, "int", "stay unset", false, nil, func(int) any { return nil }},
	{record.Field{Kind: state.KindSum}, "int", "add", false, nil, number},
	{record.Field{Kind: state.KindMax}, "int", "offer", false, nil, number},
	{record.Field{Kind: state.KindMin}, "int", "offer", false, nil, func(i int) any { return -1000 - i }},
	{record.Field{Kind: state.KindDeepMerge}, "map<int>", "merge", false, nil, func(i int) any { return pair("k", 1000+i) }},
	{record.Field{Kind: state.KindTopic}, "list<string>", "publish", false, nil, text},
	{record.Field{Kind: state.KindList}, "list<string>", "append", false, text, newText},
	{record.Field{Kind: state.KindStack}, "list<string>", "prepend", false, text, newText},
	{record.Field{Kind: state.KindSet}, "list<string>", "add", false, text, newText},
	{record.Field{Kind: state.KindMap}, "map<int>", "put", false, entry, func(i int) any { return pair(added(i), 1000) }},
	{record.Field{Kind: state.KindMap}, "map<int>", "delete", false, entry, func(i int) any { return pair(key(i), nil) }},
	{record.Field{Channel: foreignLog}, "any", "add", false, spoken, func(i int) any { return spoken(50_000_000 + i) }},
	{record.Field{Channel: foreignLog}, "any", "remove", false, spoken, func(i int) any { return pair("remove", key(i)) }},
	{record.Field{Channel: foreignContexts}, "any", "put", false, known, func(i int) any { return known(50_000_000 + i) }},
	{record.Field{Channel: foreignContexts}, "any", "delete", false, known, func(i int) any { return pair("order", pair(key(i), nil)) }},
}

func number(i int) any  { return 1000 + i }
func text(i int) any    { return key(i) }
func newText(i int) any { return added(i) }
func entry(i int) any   { return pair(key(i), 1000+i) }
func known(i int) any   { return pair("order", pair(key(i), pair("what", "a thing that is known"))) }

func spoken(i int) any {
	return map[string]any{"role": "user", "id": key(i), "content": "a message with a few words"}
}

func pair(name string, v any) map[string]any { return map[string]any{name: v} }

// name returns the name of the field: its kind, or the type of its channel.
func (g recordGrowth) name() string {
	switch g.field.Channel {
	case foreignLog:
		return "messages"
	case foreignContexts:
		return "contexts"
	}
	return string(g.field.Kind)
}

// growth returns g by name.
func (g recordGrowth) growth() growth[record.Record] {
	return growth[record.Record]{
		channel: "a Record's " + g.name(), does: g.does, single: g.single,
		seed: func(r *record.Record, n int) error {
			for i := range n {
				if g.seed == nil {
					break
				}
				if err := r.Write(g.name(), g.seed(i)); err != nil {
					return err
				}
			}
			return nil
		},
		step: func(r *record.Record, i int) error { return r.Write(g.name(), g.step(i)) },
	}
}

// shape returns the shape of the Records: a field for each channel.
func shape() (*record.Shape, error) {
	var fields []record.Field
	for _, g := range recordGrowths {
		f := g.field
		f.Name = g.name()
		if len(fields) > 0 && fields[len(fields)-1].Name == f.Name {
			continue
		}
		if g.typ != "any" {
			typ, err := record.ParseType(g.typ, nil)
			if err != nil {
				return nil, err
			}
			f.Type = typ
		}
		fields = append(fields, f)
	}
	return record.NewShape(fields...)
}
