package state_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weftrun/weft/state"
)

func mustSchema[S any](t testing.TB) *state.Schema {
	t.Helper()
	s, err := state.SchemaOf[S]()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

type task struct {
	Current state.Value[string] `json:"current"`
	Done    state.List[string]  `json:"done" weft:"default=[\"start\"]"`
}

type common struct {
	Log state.List[string] `json:"log"`
}

type report struct {
	common
	Task    task            `json:"task" weft:"turn"`
	Rounds  state.Sum[int]  `json:"rounds" weft:"turn,default=2"`
	Pending state.Set[int]  `json:"pending" weft:"default=[3,1]"`
	Control struct{ Inner } `json:"control"`
}

type Inner struct{ Error state.Latest[string] }

func TestGroups_FlattenToPrefixedNames(t *testing.T) {
	s := mustSchema[report](t)
	var got []string
	for _, f := range s.Fields() {
		got = append(got, fmt.Sprintf("%s %s %t %s", f.Name, f.Type, f.Turn, f.Default))
	}
	want := []string{
		"log state.List[string] false ",
		"task_current state.Value[string] true ",
		`task_done state.List[string] true ["start"]`,
		"rounds state.Sum[int] true 2",
		"pending state.Set[int] false [3,1]",
		"control_Error state.Latest[string] false ",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if i, ok := s.Index("rounds"); i != 3 || !ok {
		t.Errorf("Index(rounds): got %d, %t", i, ok)
	}
}

func TestNew_HasDefaultsAndBlankHasNone(t *testing.T) {
	s := mustSchema[report](t)
	full := `{"log":[],"task_done":["start"],"rounds":2,"pending":[1,3]}`
	if got := mustEncode(t, s, s.New()); got != full {
		t.Errorf("New: got %s, want %s", got, full)
	}
	if got, want := mustEncode(t, s, s.Blank()), `{"log":[],"task_done":[],"rounds":0,"pending":[]}`; got != want {
		t.Errorf("Blank: got %s, want %s", got, want)
	}
	v := s.New()
	for i := range v.Channels {
		if v.Channels[i].Wrote() {
			t.Errorf("field %s: a default is not a write", s.Fields()[i].Name)
		}
	}
}

func mustEncode(t testing.TB, s *state.Schema, v state.View) string {
	t.Helper()
	data, err := s.Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestReset_ReturnsToTheDefault(t *testing.T) {
	s := mustSchema[report](t)
	v := s.New()
	r := v.State.(*report)
	r.Rounds.Add(5)
	r.Task.Done.Append("more")
	for i, f := range s.Fields() {
		if f.Turn {
			s.Reset(v, i)
		}
	}
	if got, want := mustEncode(t, s, v), mustEncode(t, s, s.New()); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestDifference_AcrossAReset: after a reset a list may be longer than before and
// yet not have grown out of it.
func TestDifference_AcrossAReset(t *testing.T) {
	s := mustSchema[report](t)
	i, _ := s.Index("task_done")
	run, before := s.New(), s.New()
	appendTo := func(items ...string) {
		w := s.New()
		s.Assign(w, run)
		w.State.(*report).Task.Done.Append(items...)
		if err := run.Channels[i].Fold(w.Channels[i : i+1]); err != nil {
			t.Fatal(err)
		}
	}
	appendTo("a")
	s.Assign(before, run)
	s.Reset(run, i)
	appendTo("x", "y")
	if diff, ok := run.Channels[i].(state.Delta).Since(before.Channels[i]); ok {
		t.Errorf("got the difference %v from [start a] to [start x y], want none", diff)
	}
}

// Requirement: Unknown names are errors
func TestDecode_ReportsEveryMistake(t *testing.T) {
	s := mustSchema[report](t)
	v := s.New()
	err := s.Decode(v, []byte(`{"rounds":"x","nope":1,"task_current":"go","Nope":2}`))
	for _, want := range []string{`"nope"`, `"Nope"`, "log, task_current", `"rounds" (state.Sum[int])`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to mention %s", err, want)
		}
	}
	if !errors.Is(err, state.ErrUnknownField) {
		t.Errorf("got %v, want ErrUnknownField in it", err)
	}
	if err := s.Decode(v, []byte(`[]`)); err == nil {
		t.Error("an input that is not an object: want an error")
	}
}

func TestDecode_MergesAndEncodeIsDeterministic(t *testing.T) {
	s := mustSchema[report](t)
	v := s.New()
	if err := s.Decode(v, []byte(`{"rounds":3,"pending":[9,2],"task_done":["x"],"task_current":"c","log":null}`)); err != nil {
		t.Fatal(err)
	}
	want := `{"log":[],"task_current":"c","task_done":["start","x"],"rounds":5,"pending":[1,2,3,9]}`
	for range 3 {
		if got := mustEncode(t, s, v); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	}
}

func TestNull_IsNoValue(t *testing.T) {
	var v state.Value[bool]
	v.Set(true)
	if err := json.Unmarshal([]byte("null"), &v); err != nil {
		t.Fatal(err)
	}
	if _, ok := v.Lookup(); ok {
		t.Error("null must clear a Value, not set it to false")
	}
	var n state.Sum[int]
	if err := json.Unmarshal([]byte("null"), &n); err != nil || n.Channel().Wrote() {
		t.Errorf("null adds nothing to a Sum; got error %v, wrote %t", err, n.Channel().Wrote())
	}
}

// borrowed has a Fold that its Channel, that of the List, does not use.
type borrowed struct{ state.List[string] }

func (*borrowed) Fold([]state.Channel) error { return nil }

// notes is a List of strings, by another name and with methods of its own.
type notes struct{ state.List[string] }

func TestTypeThatEmbedsAChannel_MergesAsItDoes(t *testing.T) {
	s := mustSchema[struct{ Notes notes }](t)
	run, a, b := s.New(), s.New(), s.New()
	for i, v := range []state.View{a, b} {
		v.State.(*struct{ Notes notes }).Notes.Append(string(rune('a' + i)))
	}
	if err := run.Channels[0].Fold([]state.Channel{a.Channels[0], b.Channels[0]}); err != nil {
		t.Fatal(err)
	}
	if data, err := s.Encode(run); string(data) != `{"Notes":["a","b"]}` || err != nil {
		t.Errorf("got %s, %v", data, err)
	}
}

type mistaken struct {
	Plain    int
	hidden   state.Value[int]
	Dash     state.Value[int] `json:"-"`
	One      state.Value[int] `json:"same_log"`
	Two      common           `json:"same"`
	Chan     state.Value[chan int]
	Key      state.Map[float64, int]
	Element  state.Map[string, func()]
	Tag      state.Sum[int] `weft:"trun"`
	NoJSON   state.Sum[int] `weft:"default=two"`
	Misfit   state.Sum[int] `weft:"default=\"two\""`
	Group    common         `weft:"default={}"`
	Borrowed borrowed
	Pointer  *common
	Lost     state.Value[struct{ secret int }]
	Deep     state.List[map[string][]*struct{ F func() }]
	Iface    state.Value[error]
}

func TestSchema_ReportsEveryMistake(t *testing.T) {
	_ = mistaken{}.hidden
	_, err := state.SchemaOf[mistaken]()
	var se *state.SchemaError
	if !errors.As(err, &se) {
		t.Fatalf("got %v, want a *SchemaError", err)
	}
	want := []string{
		"mistaken.Plain: type int is not a channel",
		"mistaken.hidden: the field is not exported",
		`mistaken.Dash: the tag json:"-"`,
		`mistaken.Two.Log: the wire name "same_log" is already taken by mistaken.One`,
		"mistaken.Chan: chan int cannot be stored",
		"mistaken.Key: map[float64]int cannot be stored: a map key of type float64",
		"mistaken.Element: map[string]func() cannot be stored",
		`mistaken.Tag: tag weft:"trun"`,
		`mistaken.NoJSON: tag weft:"default=two": the default is not JSON`,
		"mistaken.Group: a default belongs to a channel",
		"mistaken.Borrowed: the Fold of state_test.borrowed is not used: its Channel is that of the embedded state.List[string]",
		"mistaken.Pointer: type *state_test.common is not a channel",
		"mistaken.Lost: struct { secret int } cannot be stored: its field secret is not exported",
		"mistaken.Deep: map[string][]*struct { F func() } cannot be stored: its field F: a func",
		"mistaken.Iface: error cannot be stored: the interface error does not determine the Go type to decode into",
	}
	for i, m := range se.Mistakes {
		line := m.Path + ": " + m.What
		if i >= len(want) || !strings.HasPrefix(line, want[i]) {
			t.Errorf("mistake %d: got %s", i, line)
		}
	}
	if len(se.Mistakes) != len(want) {
		t.Errorf("got %d mistakes, want %d:\n%v", len(se.Mistakes), len(want), err)
	}
}

func TestDefault_MustFit(t *testing.T) {
	type S struct {
		N state.Sum[int] `weft:"default=\"two\""`
	}
	if _, err := state.SchemaOf[S](); err == nil || !strings.Contains(err.Error(), `N: default "two"`) {
		t.Errorf("got %v, want the default named", err)
	}
	if _, err := state.SchemaOf[int](); err == nil {
		t.Error("an int is not a state")
	}
}

type strict struct{ state.List[string] }

func (s *strict) Channel() state.Channel { return strictChannel{s.List.Channel()} }

type strictChannel struct{ state.Channel }

func (strictChannel) Fold([]state.Channel) error { return errors.New("never") }

func TestChannels_OnlyOurOwnAreSafe(t *testing.T) {
	if !mustSchema[report](t).Safe() {
		t.Error("a struct of the channels of this package is safe")
	}
	if mustSchema[struct{ L strict }](t).Safe() {
		t.Error("a channel that embeds one of ours has a Fold of its own, which may fail")
	}
	if mustSchema[struct {
		R state.Reduced[string, Longest]
	}](t).Safe() {
		t.Error("a Reduced runs the code of its reducer")
	}
}
