package state_test

import (
	"encoding/json"
	"errors"

	"pgregory.net/rapid"

	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/message"
)

// subject is one type of channel and the ways to write to it.
type subject struct {
	name  string
	fresh func() state.Channel
	copy  func(state.Channel) state.Channel
	write func(*rapid.T, state.Channel) // an ordinary write
	over  func(*rapid.T, state.Channel) // nil where there is no Overwrite

	single bool // two writes in one step are an error
	latest bool // a Fold forgets what was there before
	secret bool // has no stored form
}

type pointer[C any] interface {
	*C
	state.Channeler
}

// tested is a channel and the pointer by which a node has it.
type tested struct {
	state.Channel
	p any
}

func (c tested) Fold(writes []state.Channel) error {
	inner := make([]state.Channel, len(writes))
	for i, w := range writes {
		inner[i] = unwrapped(w)
	}
	return c.Channel.Fold(inner)
}

// unwrapped returns the channel itself.
func unwrapped(c state.Channel) state.Channel {
	if t, ok := c.(tested); ok {
		return t.Channel
	}
	return c
}

func of[C any, P pointer[C]](name string, write, over func(*rapid.T, P)) subject {
	s := subject{
		name:  name,
		fresh: func() state.Channel { p := P(new(C)); return tested{p.Channel(), p} },
		copy:  func(c state.Channel) state.Channel { v := *c.(tested).p.(P); return tested{P(&v).Channel(), P(&v)} },
		write: func(t *rapid.T, c state.Channel) { write(t, c.(tested).p.(P)) },
	}
	if over != nil {
		s.over = func(t *rapid.T, c state.Channel) { over(t, c.(tested).p.(P)) }
	}
	return s
}

// digits is a reducer in which the order of updates shows.
type digits struct{}

func (digits) Reduce(acc, update []int) []int { return append(acc[:len(acc):len(acc)], update...) }

var (
	aWord   = rapid.SampledFrom([]string{"", "a", "b", "c", "ü", `"`, "zz"})
	anInt   = rapid.IntRange(-5, 5)
	someInt = rapid.SliceOfN(anInt, 0, 4)
	words   = rapid.SliceOfN(aWord, 0, 4)
	entries = rapid.MapOfN(aWord, anInt, 0, 4)
)

func subjects() []subject {
	value := of("Value", func(t *rapid.T, c *state.Value[string]) { setOrClear(t, c) }, nil)
	value.single, value.latest = true, true
	latest := of("Latest", func(t *rapid.T, c *state.Latest[string]) { setOrClear(t, c) }, nil)
	latest.latest = true
	ephemeral := of("Ephemeral", func(t *rapid.T, c *state.Ephemeral[string]) { setOrClear(t, c) }, nil)
	ephemeral.single, ephemeral.latest = true, true
	untracked := of("Untracked", func(t *rapid.T, c *state.Untracked[string]) { setOrClear(t, c) }, nil)
	untracked.single, untracked.latest, untracked.secret = true, true, true
	topic := of("Topic", func(t *rapid.T, c *state.Topic[int]) { c.Publish(someInt.Draw(t, "items")...) }, nil)
	topic.latest = true
	once := of("Once", func(t *rapid.T, c *state.Once[string]) {
		if _, has := c.Lookup(); !has {
			c.Set(aWord.Draw(t, "value"))
		}
	}, func(t *rapid.T, c *state.Once[string]) {
		if rapid.Bool().Draw(t, "clear") {
			c.Clear()
			return
		}
		c.Overwrite(aWord.Draw(t, "value"))
	})
	once.single, once.latest = true, true
	return append([]subject{
		value, latest, ephemeral, untracked, topic, once,
		of("Stack", func(t *rapid.T, c *state.Stack[int]) { c.Prepend(someInt.Draw(t, "items")...) },
			func(t *rapid.T, c *state.Stack[int]) { c.Overwrite(someInt.Draw(t, "items")) }),
		of("DeepMerge", func(t *rapid.T, c *state.Reduced[map[string]any, state.DeepMerge]) { c.Update(aPatch(t)) },
			func(t *rapid.T, c *state.Reduced[map[string]any, state.DeepMerge]) { c.Overwrite(aPatch(t)) }),
		of("List", func(t *rapid.T, c *state.List[int]) { c.Append(someInt.Draw(t, "items")...) },
			func(t *rapid.T, c *state.List[int]) { c.Overwrite(someInt.Draw(t, "items")) }),
		of("Sum", func(t *rapid.T, c *state.Sum[int8]) { c.Add(int8(anInt.Draw(t, "n") * 20)) },
			func(t *rapid.T, c *state.Sum[int8]) { c.Overwrite(int8(anInt.Draw(t, "n"))) }),
		of("SumFloat", func(t *rapid.T, c *state.Sum[float64]) { c.Add(float64(anInt.Draw(t, "n")) / 3) },
			func(t *rapid.T, c *state.Sum[float64]) { c.Overwrite(float64(anInt.Draw(t, "n"))) }),
		of("Max", func(t *rapid.T, c *state.Max[int]) { c.Offer(anInt.Draw(t, "n")) },
			func(t *rapid.T, c *state.Max[int]) { c.Overwrite(anInt.Draw(t, "n")) }),
		of("Min", func(t *rapid.T, c *state.Min[string]) { c.Offer(aWord.Draw(t, "s")) },
			func(t *rapid.T, c *state.Min[string]) { c.Overwrite(aWord.Draw(t, "s")) }),
		of("Reduced", func(t *rapid.T, c *state.Reduced[[]int, digits]) { c.Update(someInt.Draw(t, "items")) },
			func(t *rapid.T, c *state.Reduced[[]int, digits]) { c.Overwrite(someInt.Draw(t, "items")) }),
		of("Map", func(t *rapid.T, c *state.Map[string, int]) { putOrDelete(t, c) },
			func(t *rapid.T, c *state.Map[string, int]) { c.Overwrite(entries.Draw(t, "entries")) }),
		of("Set", func(t *rapid.T, c *state.Set[string]) { addOrRemove(t, c) },
			func(t *rapid.T, c *state.Set[string]) { c.Overwrite(words.Draw(t, "items")) }),
		of("Log", writeMessages, func(t *rapid.T, c *message.Log) { must(t, c.Overwrite(someMessages.Draw(t, "items"))) }),
		of("ContextData", func(t *rapid.T, c *state.ContextData) { know(t, c) },
			func(t *rapid.T, c *state.ContextData) {
				var other state.ContextData
				know(t, &other)
				c.Overwrite(other)
			}),
	}, recordSubjects()...)
}

// aPatch is an object of objects, with nulls.
func aPatch(t *rapid.T) map[string]any {
	m := map[string]any{}
	for range rapid.IntRange(0, 3).Draw(t, "members") {
		switch rapid.IntRange(0, 2).Draw(t, "member") {
		case 0:
			m[aWord.Draw(t, "key")] = nil
		case 1:
			m[aWord.Draw(t, "key")] = aWord.Draw(t, "value")
		default:
			m[aWord.Draw(t, "key")] = map[string]any{aWord.Draw(t, "inner"): aWord.Draw(t, "value"), "gone": nil}
		}
	}
	return m
}

// someMessages have few ids and few texts, so that they meet; some have no id.
var someMessages = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) message.Message {
	m := message.User(rapid.SampledFrom([]string{"a", "b", "<ü>"}).Draw(t, "text"))
	m.ID = aWord.Draw(t, "id")
	return m
}), 0, 4)

func writeMessages(t *rapid.T, c *message.Log) {
	i := rapid.IntRange(0, 9).Draw(t, "how")
	switch {
	case i == 0:
		c.RemoveAll()
	case i < 3 && c.Len() > 0:
		must(t, c.Remove(c.At(rapid.IntRange(0, c.Len()-1).Draw(t, "at")).ID))
	case i < 5 && c.Len() > 0:
		m := message.User("r")
		m.ID = aWord.Draw(t, "id")
		must(t, c.Replace(c.At(rapid.IntRange(0, c.Len()-1).Draw(t, "at")).ID, m))
	case i < 6:
		must(t, c.UnmarshalJSON([]byte(`["x",{"role":"ai"},{"id":"j","role":"user","content":"y"},{"remove":"j"}]`)))
	default:
		must(t, c.Add(someMessages.Draw(t, "messages")...))
	}
}

// must takes a test, and a rapid one.
func must(t interface {
	Helper()
	Fatal(args ...any)
}, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func setOrClear(t *rapid.T, c interface {
	Set(string)
	Clear()
}) {
	if rapid.Bool().Draw(t, "clear") {
		c.Clear()
		return
	}
	c.Set(aWord.Draw(t, "value"))
}

func putOrDelete(t *rapid.T, c *state.Map[string, int]) {
	if rapid.Bool().Draw(t, "delete") {
		c.Delete(aWord.Draw(t, "key"))
		return
	}
	c.Put(aWord.Draw(t, "key"), anInt.Draw(t, "value"))
}

func addOrRemove(t *rapid.T, c *state.Set[string]) {
	if rapid.Bool().Draw(t, "remove") {
		c.Remove(words.Draw(t, "items")...)
		return
	}
	c.Add(words.Draw(t, "items")...)
}

// views makes 1 to 4 views of c and writes to most of them.
func (s subject) views(t *rapid.T, c state.Channel) (writes []state.Channel) {
	for range rapid.IntRange(1, 4).Draw(t, "tasks") {
		w := s.copy(c)
		for range rapid.IntRange(0, 3).Draw(t, "ops") {
			s.op(t, w)
		}
		if w.Wrote() {
			writes = append(writes, w)
		}
	}
	if s.single && len(writes) > 1 {
		writes = writes[:1]
	}
	return writes
}

func (s subject) op(t *rapid.T, c state.Channel) {
	if s.over != nil && rapid.IntRange(0, 4).Draw(t, "overwrite") == 0 {
		s.over(t, c)
		return
	}
	s.write(t, c)
}

// version is a committed channel, and the bytes that it must keep.
type version struct {
	state.Channel
	bytes string
}

// history is a tree of versions: it forks, expires, and is stored and restored.
func (s subject) history(t *rapid.T) []version {
	all := []version{{s.fresh(), encode(t, s.fresh())}}
	for range rapid.IntRange(1, 8).Draw(t, "steps") {
		c := s.copy(rapid.SampledFrom(all).Draw(t, "from").Channel)
		s.step(t, c)
		all = append(all, version{c, encode(t, c)})
	}
	return all
}

func (s subject) step(t *rapid.T, c state.Channel) {
	writes := s.views(t, c)
	e, expires := unwrapped(c).(state.Expirer)
	var conflict *state.ConflictError
	switch {
	case len(writes) == 0 && expires:
		e.Expire()
	case len(writes) == 0:
	default:
		if err := c.Fold(writes); err != nil && !errors.As(err, &conflict) {
			t.Fatalf("Fold: got %v, want nil or a *ConflictError", err)
		}
	}
}

func encode(t *rapid.T, v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("encode %T: %v", v, err)
	}
	return string(data)
}

func decoder(data string) state.Decode {
	return func(into any) error { return json.Unmarshal([]byte(data), into) }
}
