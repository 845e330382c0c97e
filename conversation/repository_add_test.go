package conversation_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/conversation"
	"github.com/weftrun/weft/state/message"
)

func TestNewRepository_NeedsAStore(t *testing.T) {
	w := newWorld(t, "a repository needs a store")
	if _, err := conversation.NewRepository(nil); !errors.Is(err, conversation.ErrConfig) {
		w.Errorf("got %v, want ErrConfig", err)
	}
}

func TestNewRepository_CallsNoStore(t *testing.T) {
	w := newWorld(t, "NewRepository makes no call of the store")
	if n := len(w.spy.batches) + len(w.spy.queries) + w.spy.gets; n > 0 {
		w.Errorf("got %d calls before the first use", n)
	}
}

func TestAdd_UsesCollectionConversations(t *testing.T) {
	w := newWorld(t, "messages are in the collection conversations")
	w.add("t", at("a", 1))
	if docs := w.docs("t"); len(docs) != 1 || conversation.Collection != "conversations" {
		w.Errorf("got %d documents there, want 1", len(docs))
	}
}

func TestAdd_NoMessages(t *testing.T) {
	w := newWorld(t, "an Add without messages makes no call")
	stored, err := w.repo.Add(w.ctx, "t")
	if err != nil || len(stored) > 0 || len(w.spy.batches) > 0 {
		w.Errorf("got %v, %v and %d calls", stored, err, len(w.spy.batches))
	}
}

func TestAdd_StoresAMessageUnderItsID(t *testing.T) {
	w := newWorld(t, "a document is the message under its id")
	m := at("a", 1)
	w.add("t", m)
	if d := w.docs("t")[0]; d.ID != "a" || !strings.Contains(string(d.Value), `"a"`) || !strings.Contains(string(d.Value), "text of a") {
		w.Errorf("got id %q with %s", d.ID, d.Value)
	}
}

func TestAdd_ReplacesTheSameID(t *testing.T) {
	w := newWorld(t, "a message replaces the one with its id, in one write")
	w.add("t", at("a", 1), at("b", 1), at("c", 1))
	before := len(w.spy.batches)
	again := at("b", 1)
	again.Content = []message.Part{message.Text("edited")}
	w.add("t", again)
	if n := len(w.spy.batches) - before; n != 1 {
		w.Errorf("rule: %s\n got: %d writes", w.rule, n)
	}
	w.want("t", conversation.Options{}, "a", "b", "c")
	if got := w.get("t", conversation.Options{})[1].Text(); got != "edited" {
		w.Errorf("rule: %s\n got: %q", w.rule, got)
	}
	first, last := at("d", 2), at("d", 2)
	last.Content = []message.Part{message.Text("last")}
	w.add("t", first, at("e", 2), last)
	w.want("t", conversation.Options{}, "a", "b", "c", "d", "e")
	if got := w.get("t", conversation.Options{})[3].Text(); got != "last" {
		w.Errorf("rule: of several messages with one id in an Add, the last is stored\n got: %q", got)
	}
}

func TestAdd_MessageOfAnotherThread(t *testing.T) {
	w := newWorld(t, "a message of another thread is stored there, with a warning")
	m, err := at("x", 2).With(conversation.ThreadKey, "other")
	if err != nil {
		w.Fatal(err)
	}
	own, _ := at("y", 3).With(conversation.ThreadKey, "t")
	stored := w.add("t", at("a", 1), m, own)
	w.want("t", conversation.Options{}, "a", "y")
	w.want("other", conversation.Options{}, "x")
	if !slices.Equal(idsOf(stored), []string{"a", "x", "y"}) {
		w.Errorf("got %q back", idsOf(stored))
	}
	var thread string
	if ok, err := w.get("other", conversation.Options{})[0].Meta(conversation.ThreadKey, &thread); !ok || err != nil || thread != "other" {
		w.Errorf("rule: the metadata of the message is unchanged\n got: %q, %v", thread, err)
	}
	if log := w.log.String(); strings.Count(log, "WARN") != 1 || !strings.Contains(log, "own=other") || !strings.Contains(log, "message=x") {
		w.Errorf("rule: one warning that names the message\n got: %s", log)
	}
}

func TestAdd_IsAtomic(t *testing.T) {
	w := newWorld(t, "an Add is atomic and reports its failure")
	w.spy.refuse = errors.New("the disk is on fire")
	if _, err := w.repo.Add(w.ctx, "t", at("a", 1)); !errors.Is(err, w.spy.refuse) || !strings.Contains(err.Error(), `thread "t"`) {
		w.Errorf("rule: the error wraps that of the store and names the thread\n got: %v", err)
	}
	w.spy.refuse = nil
	big := at("big", 3)
	big.Content = []message.Part{message.Text(strings.Repeat("x", document.MaxValue))}
	if _, err := w.repo.Add(w.ctx, "t", at("a", 1), at("b", 2), big); !errors.Is(err, document.ErrTooLarge) || !strings.Contains(err.Error(), `"big"`) {
		w.Errorf("rule: the error names the message that is too large\n got: %v", err)
	}
	var many []message.Message
	for i := range document.MaxBatch + 1 {
		many = append(many, at(fmt.Sprint(i), i))
	}
	if _, err := w.repo.Add(w.ctx, "t", many...); !errors.Is(err, document.ErrTooLarge) {
		w.Errorf("rule: an Add has a limit\n got: %v", err)
	}
	w.want("t", conversation.Options{})
	w.add("t", many[1:]...)
	if n := len(w.get("t", conversation.Options{})); n != document.MaxBatch {
		w.Errorf("got %d messages, want %d", n, document.MaxBatch)
	}
}

func TestAdd_FillsIDAndTime(t *testing.T) {
	w := newWorld(t, "a message without an id or a time gets one")
	given := message.User("Hello")
	stored := w.add("t", given, message.Assistant("Hello"))
	if stored[0].ID == "" || stored[0].ID == stored[1].ID || stored[0].Created.IsZero() || given.ID != "" {
		w.Errorf("rule: %s\n got: %s", w.rule, text(stored))
	}
	if got := w.get("t", conversation.Options{}); text(got) != text(stored) {
		w.Errorf("rule: Add returns the messages as Get does\n got: %s\nwant: %s", text(stored), text(got))
	}
}

func TestAdd_RejectsInvalidMessages(t *testing.T) {
	w := newWorld(t, "invalid messages are rejected and nothing is stored")
	mixed := at("b", 1)
	mixed.Results = []message.Result{message.ResultOf("c", "x")}
	badRole := at("c", 2)
	badRole.Role = "unknown"
	_, err := w.repo.Add(w.ctx, "t", at("a", 1), mixed, badRole)
	var invalid *message.InvalidError
	if !errors.As(err, &invalid) || len(invalid.Problems) < 2 {
		w.Errorf("rule: one error reports all mistakes\n got: %v", err)
	}
	astray, _ := at("d", 1).With(conversation.ThreadKey, "")
	number, _ := at("e", 1).With(conversation.ThreadKey, 7)
	if _, err := w.repo.Add(w.ctx, "t", astray); !errors.Is(err, checkpoint.ErrThreadID) || !strings.Contains(err.Error(), `"d"`) {
		w.Errorf("rule: an empty thread name is rejected\n got: %v", err)
	}
	if _, err := w.repo.Add(w.ctx, "t", number); err == nil {
		w.Error("rule: a thread name that is no text is rejected")
	}
	if _, err := w.repo.Add(w.ctx, "", at("a", 1)); !errors.Is(err, checkpoint.ErrThreadID) {
		w.Errorf("got %v, want ErrThreadID", err)
	}
	if _, err := w.repo.Get(w.ctx, "", conversation.Options{}); !errors.Is(err, checkpoint.ErrThreadID) {
		w.Errorf("got %v, want ErrThreadID", err)
	}
	w.want("t", conversation.Options{})
}

func TestDelete_OneThread(t *testing.T) {
	w := newWorld(t, "Delete removes one thread")
	w.add("t", at("a", 1))
	w.add("u", at("b", 1))
	for range 2 {
		if err := w.repo.Delete(w.ctx, "t"); err != nil {
			w.Fatal(err)
		}
	}
	w.want("t", conversation.Options{})
	w.want("u", conversation.Options{}, "b")
	if err := w.repo.Delete(w.ctx, ""); !errors.Is(err, checkpoint.ErrThreadID) {
		w.Errorf("rule: Delete of an empty thread name is rejected\n got: %v", err)
	}
}
