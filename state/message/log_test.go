package message_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/message"
)

func user(id, text string) message.Message {
	m := message.User(text)
	m.ID = id
	return m
}

func call(id string, calls ...string) message.Message {
	m := message.Assistant("")
	m.ID = id
	for _, c := range calls {
		m.Calls = append(m.Calls, message.Call{ID: c, Name: "search"})
	}
	return m
}

func answer(id string, calls ...string) message.Message {
	m := message.Tool()
	m.ID = id
	for _, c := range calls {
		m.Results = append(m.Results, message.ResultOf(c, "found"))
	}
	return m
}

// ids returns the ids in order, with a space between.
func ids(ms []message.Message) string {
	all := make([]string, len(ms))
	for i, m := range ms {
		all[i] = m.ID
	}
	return strings.Join(all, " ")
}

// fold makes a step of what tasks write to views of run.
func fold(t testing.TB, run *message.Log, tasks ...func(*message.Log) error) error {
	t.Helper()
	var writes []state.Channel
	for _, task := range tasks {
		view := *run
		if err := task(&view); err != nil {
			t.Fatal(err)
		}
		if view.Channel().Wrote() {
			writes = append(writes, view.Channel())
		}
	}
	return run.Channel().Fold(writes)
}

func mustFold(t testing.TB, run *message.Log, tasks ...func(*message.Log) error) {
	t.Helper()
	if err := fold(t, run, tasks...); err != nil {
		t.Fatal(err)
	}
}

func add(ms ...message.Message) func(*message.Log) error {
	return func(l *message.Log) error { return l.Add(ms...) }
}

func remove(all ...string) func(*message.Log) error {
	return func(l *message.Log) error { return l.Remove(all...) }
}

func input(data string) func(*message.Log) error {
	return func(l *message.Log) error {
		*l = message.Log{} // an input does not know its thread
		return l.UnmarshalJSON([]byte(data))
	}
}

func TestAdd_KnownIDStaysInItsPlace(t *testing.T) {
	l := message.LogOf(user("a", "1"), user("b", "2"))
	if err := l.Add(user("a", "3"), user("c", "4")); err != nil {
		t.Fatal(err)
	}
	if m, _ := l.ByID("a"); ids(l.Slice()) != "a b c" || m.Text() != "3" {
		t.Errorf("got %s", l)
	}
}

func TestAdd_LastOfOneIDStays(t *testing.T) {
	l := message.LogOf(user("a", "1"), user("b", "2"), user("a", "3"))
	if ids(l.Slice()) != "a b" || l.At(0).Text() != "3" {
		t.Errorf("got %s", l)
	}
}

func TestAdd_AfterARemoveIsAtTheEnd(t *testing.T) {
	var run message.Log
	mustFold(t, &run, add(user("a", "1"), user("b", "2")))
	mustFold(t, &run, func(l *message.Log) error { return errors.Join(l.Remove("a"), l.Add(user("a", "3"))) })
	if ids(run.Slice()) != "b a" || run.At(1).Text() != "3" {
		t.Errorf("got %s", run)
	}
}

func TestRemove_UnknownIDIsAnError(t *testing.T) {
	l := message.LogOf(user("a", "1"))
	var unknown *message.UnknownError
	if err := l.Remove("a", "missing"); !errors.As(err, &unknown) || unknown.ID != "missing" || l.Len() != 1 {
		t.Errorf("got %v and %s, want an *UnknownError and nothing removed", err, l)
	}
	if err := l.Replace("missing", user("b", "2")); !errors.As(err, &unknown) || l.Len() != 1 {
		t.Errorf("Replace: got %v and %s", err, l)
	}
	var run message.Log
	mustFold(t, &run, add(user("a", "1"), user("b", "2")))
	for _, in := range []string{`[{"remove":"missing"}]`, `[{"replace":"missing","with":{"role":"user","content":"x"}}]`} {
		if err := fold(t, &run, input(in)); !errors.As(err, &unknown) || ids(run.Slice()) != "a b" {
			t.Errorf("input %s: got %v and %s", in, err, run)
		}
	}
	mustFold(t, &run, input(`{"remove":"a"}`))
	if ids(run.Slice()) != "b" {
		t.Errorf("an input that removes what is there: got %s", run)
	}
	if err := run.Overwrite(nil); err != nil {
		t.Fatal(err)
	}
	if err := run.UnmarshalJSON([]byte(`{"remove":"b"}`)); !errors.As(err, &unknown) {
		t.Errorf("after an Overwrite the holder knows all: got %v", err)
	}
}

func TestRemoveAll_DropsEarlierMessagesOnly(t *testing.T) {
	var run message.Log
	mustFold(t, &run, add(user("a", "1")))
	mustFold(t, &run, add(user("b", "2")),
		func(l *message.Log) error { l.RemoveAll(); return l.Add(user("c", "3")) }, add(user("d", "4")))
	if ids(run.Slice()) != "c d" {
		t.Errorf("got %s, want c and d", run)
	}
	mustFold(t, &run, input(`[{"remove_all":true},"hello"]`))
	if run.Len() != 1 || run.At(0).Text() != "hello" {
		t.Errorf("as an input: got %s", run)
	}
}

func TestAdd_MessagesWithoutIDsGetSome(t *testing.T) {
	a, b := message.LogOf(message.User("x"), message.User("x")), message.LogOf(message.User("x"), message.User("x"))
	if a.Len() != 2 || a.At(0).ID == "" || a.At(0).ID == a.At(1).ID {
		t.Errorf("got %s, want two messages with ids of their own", a)
	}
	if a.String() != b.String() {
		t.Errorf("the same writes gave %s and %s", a, b)
	}
}

func TestAdd_EqualMessagesOfTwoTasksAreBothStored(t *testing.T) {
	var run message.Log
	say := add(message.Assistant("yes"))
	mustFold(t, &run, say, say, say)
	if run.Len() != 3 || ids(run.Slice()) == "" {
		t.Fatalf("got %s, want three", run)
	}
	if err := message.Validate(run.Slice()); err != nil {
		t.Error(err)
	}
}

func TestWrites_FollowAMessageWithANewID(t *testing.T) {
	var run message.Log
	edit := func(to string) func(*message.Log) error {
		return func(l *message.Log) error {
			if err := l.Add(message.Assistant("draft")); err != nil {
				return err
			}
			last, _ := l.Last()
			next := message.Assistant(to)
			next.ID = last.ID
			return l.Add(next)
		}
	}
	drop := func(l *message.Log) error {
		if err := l.Add(message.Assistant("draft")); err != nil {
			return err
		}
		last, _ := l.Last()
		return l.Remove(last.ID)
	}
	mustFold(t, &run, edit("one"), edit("two"), drop)
	if run.Len() != 2 || run.At(0).Text() != "one" || run.At(1).Text() != "two" {
		t.Errorf("got %s, want one and two", run)
	}
}

func TestInput_RepeatedIsTwoMessages(t *testing.T) {
	var run message.Log
	mustFold(t, &run, input(`"hi"`))
	mustFold(t, &run, input(`"hi"`))
	if run.Len() != 2 {
		t.Errorf("got %s, want two", run)
	}
}

func TestIDs_AreIndependentOfTheStore(t *testing.T) {
	var run, back message.Log
	mustFold(t, &run, add(user("a", "1"), user("b", "2"), user("c", "3")))
	mustFold(t, &run, remove("b"))
	stored, _ := run.Channel().Stored()
	if err := back.Channel().Restore(decoder(asJSON(t, stored))); err != nil {
		t.Fatal(err)
	}
	mustFold(t, &run, add(message.User("x")))
	mustFold(t, &back, add(message.User("x")))
	if run.String() != back.String() {
		t.Errorf("got %s, want %s", back, run)
	}
}

func TestTasks_TwoOfOneStepOnOneMessage(t *testing.T) {
	for _, tt := range []struct {
		rule     string
		one, two func(*message.Log) error
		want     string
	}{
		{"the last one in canonical order stays", add(user("a", "1")), add(user("a", "2")), `a=2 b=0`},
		{"both may remove it", remove("a"), remove("a"), `b=0`},
		{"what comes after a removal is at the end", remove("a"), add(user("a", "2")), `b=0 a=2`},
		{"a removal takes what came before it", add(user("a", "2")), remove("a"), `b=0`},
		{"a replacement takes the place", func(l *message.Log) error { return l.Replace("a", user("z", "1")) }, add(user("c", "2")), `z=1 b=0 c=2`},
		{"what replaces a message that is gone is at the end", remove("a"), func(l *message.Log) error { return l.Replace("a", user("z", "1")) }, `b=0 z=1`},
		{"an Overwrite wins", add(user("c", "1")), func(l *message.Log) error { return l.Overwrite([]message.Message{user("d", "2")}) }, `d=2`},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			var run message.Log
			mustFold(t, &run, add(user("a", "0"), user("b", "0")))
			mustFold(t, &run, tt.one, tt.two)
			var got []string
			for _, m := range run.All() {
				got = append(got, m.ID+"="+m.Text())
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("got %v, want %s", got, tt.want)
			}
		})
	}
}

func TestOverwrite_TwoAreAConflict(t *testing.T) {
	var run message.Log
	over := func(l *message.Log) error { return l.Overwrite(nil) }
	var conflict *state.ConflictError
	if err := fold(t, &run, over, add(user("a", "1")), over); !errors.As(err, &conflict) || conflict.First != 0 || conflict.Second != 2 {
		t.Errorf("got %v, want a conflict of writes 0 and 2", err)
	}
}

func TestAdd_AllMistakesAreReportedAndNothingIsWritten(t *testing.T) {
	l := message.LogOf(user("a", "1"))
	err := l.Add(message.User(""), user("b", "fine"), message.Message{ID: "c", Role: "boss"}, message.Tool())
	var invalid *message.InvalidError
	if !errors.As(err, &invalid) || len(invalid.Problems) != 3 || l.Len() != 1 {
		t.Fatalf("got %v and %s, want three problems and no write", err, l)
	}
	for i, want := range []string{"message 0: ", `message 2 ("c"): unknown role "boss"`, "message 3: "} {
		if !strings.Contains(invalid.Problems[i].String(), want) {
			t.Errorf("problem %d: got %s, want %s", i, invalid.Problems[i], want)
		}
	}
	err = l.UnmarshalJSON([]byte(`[{"role":"user","content":"ok"},{"content":"x"},7,{"remove":""},{"role":"user","content":[{"text":"x"}]},{"remove":"a","x":1}]`))
	if !errors.As(err, &invalid) || len(invalid.Problems) != 5 || l.Len() != 1 {
		t.Errorf("got %v and %s, want five problems and no write", err, l)
	}
}

func TestLogOf_MistakeReachesTheRun(t *testing.T) {
	l := message.LogOf(message.User(""))
	var invalid *message.InvalidError
	var run message.Log
	_, err := l.MarshalJSON()
	if !errors.As(l.Err(), &invalid) || !errors.As(err, &invalid) || !l.Channel().Wrote() {
		t.Errorf("got %v, %v, wrote %t", l.Err(), err, l.Channel().Wrote())
	}
	if err := run.Channel().Fold([]state.Channel{l.Channel()}); !errors.As(err, &invalid) {
		t.Errorf("Fold: got %v", err)
	}
	run.Channel().(state.Sequel).Then(l.Channel())
	if !errors.As(run.Err(), &invalid) {
		t.Errorf("Then: got %v", run.Err())
	}
}

func TestAdd_UnstorableIsAnErrorAtItsPlace(t *testing.T) {
	m := user("a", "x")
	m.Metadata = map[string]jsonRaw{"k": jsonRaw("{")}
	var l message.Log
	var invalid *message.InvalidError
	if err := l.Add(m); !errors.As(err, &invalid) || invalid.Problems[0].Rule != message.RuleForm || l.Channel().Wrote() {
		t.Errorf("got %v, want a problem of form", err)
	}
}

func TestMessages_OfOneMillisecondKeepTheirOrder(t *testing.T) {
	var run message.Log
	q, a := user("z", "question"), message.Assistant("answer")
	a.ID, q.Created, a.Created = "a", noon, noon
	mustFold(t, &run, add(q, a))
	if ids(run.Slice()) != "z a" {
		t.Errorf("got %s", run)
	}
}

func TestAdd_QuestionAndAnswerTogetherAreStored(t *testing.T) {
	var run message.Log
	mustFold(t, &run, add(message.User("why?"), message.Assistant("because")))
	v, _ := run.Channel().Stored()
	if stored := v.([]message.Message); len(stored) != 2 || stored[0].Role != message.RoleUser || stored[1].Role != message.RoleAssistant {
		t.Errorf("got %v", stored)
	}
}

func TestRead_IsACopyOfTheMessage(t *testing.T) {
	l := message.LogOf(user("a", "1"))
	m, _ := l.ByID("a")
	m.Role = message.RoleTool
	deep := l.At(0).Clone()
	deep.Content[0].Text = "changed"
	l.Slice()[0].ID = "changed"
	if l.At(0).Role != message.RoleUser || l.At(0).Text() != "1" || l.At(0).ID != "a" {
		t.Errorf("got %s", l)
	}
}

func TestLog_DamagedIsRefused(t *testing.T) {
	for _, data := range []string{`[{"role":"user","content":"x"}]`, `[null]`, `{}`,
		`[{"id":"a","role":"user"},{"id":"a","role":"user"}]`} {
		var l message.Log
		if err := l.Channel().Restore(decoder(data)); err == nil {
			t.Errorf("Restore takes %s", data)
		}
		if err := l.Channel().RestoreWrites(true, decoder(data)); err == nil {
			t.Errorf("RestoreWrites takes %s", data)
		}
	}
	var l message.Log
	for _, data := range []string{`[{"role":"user","content":"x"}]`, `[null]`, `[7]`, `[{"append":null}]`} {
		if err := l.Channel().(state.Delta).Apply(decoder(data)); err == nil {
			t.Errorf("Apply takes %s", data)
		}
		if err := l.Channel().RestoreWrites(false, decoder(data)); err == nil {
			t.Errorf("RestoreWrites takes %s", data)
		}
	}
}

func TestLog_Reads(t *testing.T) {
	l := message.LogOf(message.System("be brief"), user("a", "1"), call("b", "c1"), answer("c", "c1"), user("d", "2"))
	first := ""
	for i, m := range l.FromRole(message.RoleUser) {
		if first += m.ID; i != 1 && i != 4 {
			t.Errorf("user message at %d", i)
		}
	}
	for range l.FromRole(message.RoleUser) {
		break
	}
	for i, m := range l.All() {
		if i > 2 {
			break
		}
		_ = l.Add(m, message.User("while reading"))
	}
	tool, ok := l.LastFrom(message.RoleTool)
	if _, none := (&message.Log{}).LastFrom(message.RoleTool); first != "ad" || tool.ID != "c" || !ok || none || l.Len() != 8 {
		t.Errorf("got %q, %v, %t, %t, %d", first, tool, ok, none, l.Len())
	}
	defer func() {
		if recover() == nil {
			t.Error("At out of range does not panic")
		}
	}()
	l.At(8)
}

func TestRemove_InAnInputOfANewThreadIsRefused(t *testing.T) {
	var run message.Log
	var unknown *message.UnknownError
	if err := fold(t, &run, input(`[{"remove":"missing"}]`)); !errors.As(err, &unknown) {
		t.Errorf("got %v, want an *UnknownError", err)
	}
}

func TestTask_MayGetOneIDTwice(t *testing.T) {
	var run message.Log
	again := func(l *message.Log) error {
		if err := l.Add(message.Assistant("x")); err != nil {
			return err
		}
		last, _ := l.Last()
		return errors.Join(l.Remove(last.ID), l.Add(message.Assistant("x")))
	}
	mustFold(t, &run, again, again)
	if run.Len() != 2 {
		t.Errorf("got %s, want two", run)
	}
}
