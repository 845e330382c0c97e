package message_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/weftrun/weft/state/message"
)

// A log reads like a slice; a message with a known id takes the place of that one.
func ExampleLog() {
	log := message.LogOf(message.System("You are brief."), message.User("hello"))
	draft := message.Assistant("Hi")
	draft.ID = "answer"
	if err := log.Add(draft); err != nil {
		fmt.Println(err)
	}
	final := message.Assistant("Hi!")
	final.ID = "answer"
	if err := log.Add(final); err != nil {
		fmt.Println(err)
	}
	for i, m := range log.All() {
		fmt.Println(i, m.Role, m.Text())
	}
	// Output:
	// 0 system You are brief.
	// 1 user hello
	// 2 assistant Hi!
}

func ExampleLog_UnmarshalJSON() {
	log := message.LogOf()
	err := log.UnmarshalJSON([]byte(`["hello", {"id":"a","role":"ai","content":"hi"}, {"remove":"a"}]`))
	fmt.Println(log.Len(), err)
	err = log.UnmarshalJSON([]byte(`[{"role":"boss"}, {"role":"user"}]`))
	mistake, roles, _ := strings.Cut(err.Error(), "; ")
	fmt.Printf("%s\n%s\n", mistake, roles)
	// Output:
	// 1 <nil>
	// message: message 0: role: unknown role "boss"
	// the roles are system, user (human), assistant (ai) and tool
}

func ExamplePairs() {
	ms := []message.Message{
		message.User("the weather in Oslo and Rome?"),
		message.Assistant("", message.Call{ID: "c1", Name: "weather"}, message.Call{ID: "c2", Name: "weather"}),
		message.Tool(message.ResultOf("c2", "sun")),
	}
	for _, p := range message.Pairs(ms) {
		fmt.Printf("%s %t %q\n", p.Call.ID, p.Answered(), p.Result.Text())
	}
	fmt.Println(message.Validate(ms) != nil)
	// Output:
	// c1 false ""
	// c2 true "sun"
	// true
}

func ExampleWindow() {
	ms := []message.Message{
		message.System("You are brief."),
		message.User("the weather?"),
		message.Assistant("", message.Call{ID: "c1", Name: "weather"}),
		message.Tool(message.ResultOf("c1", "sun")),
		message.User("thanks"),
	}
	fit, err := message.Window{MaxMessages: 3}.Fit(ms)
	if err != nil {
		fmt.Println(err)
	}
	for _, m := range fit.Messages {
		fmt.Println(m.Role, m.Text())
	}
	// Output:
	// system You are brief.
	// user thanks
}

func ExampleEstimate() {
	n, err := message.Estimate{}.Count(message.User("How many tokens are these?"))
	fmt.Println(n, err)
	// Output: 11 <nil>
}

func ExampleSummarizer() {
	log := message.LogOf(
		message.User("I am Ada."), message.Assistant("Hello Ada."),
		message.User("I like tea."), message.Assistant("Noted."),
		message.User("What do I like?"),
	)
	s := message.Summarizer{
		Window:       message.Window{MaxMessages: 4},
		KeepMessages: 1,
		Write: func(_ context.Context, ms []message.Message) (string, error) { // ask a model here
			return fmt.Sprintf("%d messages about Ada and tea", len(ms)), nil
		},
	}
	done, err := s.Compact(context.Background(), &log)
	if err != nil || done.Failed != nil {
		fmt.Println(err, done.Failed)
	}
	for _, m := range done.Messages {
		fmt.Println(m.Role, m.Text())
	}
	// Output:
	// system Summary of previous context: 4 messages about Ada and tea
	// user What do I like?
}
