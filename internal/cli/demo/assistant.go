package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/capabilities/tool"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/nodes/react"
	"github.com/weftrun/weft/state/message"
)

// AssistantName is the name of the graph to chat with.
const AssistantName = "assistant"

// Assistant returns a graph to chat with over a store. Its model is a script: it looks things up,
// asks before it sends a letter, and counts. Tools take at least the time pace.
func Assistant(store checkpoint.Store, pace time.Duration) (graph.Untyped, error) {
	d := demo{pace}
	set, err := tool.NewSet(
		tool.Func(tool.Info{Name: "look_up", Description: "Looks something up in one source."}, d.lookUp),
		tool.Func(tool.Info{Name: "send_letter", Description: "Sends a letter.", Mode: tool.Permit, Prompt: "May this letter be sent?"}, d.sendLetter),
	)
	if err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	b, err := react.New(react.Config{Name: AssistantName, Model: speaker{pace}, Tools: set})
	if err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	g, err := b.Compile(graph.Config{Store: store, Trace: true})
	if err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	return g.Untyped(), nil
}

// subject is what is looked up, and where.
type subject struct {
	Source  string `json:"source"`
	Subject string `json:"subject"`
}

func (d demo) lookUp(ctx context.Context, s subject) (string, error) {
	if err := d.wait(ctx); err != nil {
		return "", err
	}
	if s.Source == "press" {
		return "", errors.New("the press has nothing about it")
	}
	return fmt.Sprintf("The %s has 3 entries about %q.", s.Source, s.Subject), nil
}

func (d demo) sendLetter(ctx context.Context, l Letter) (string, error) {
	return "The letter to " + l.To + " is on its way.", d.wait(ctx)
}

// speaker is a model that follows a script. A word takes a fraction of its pace.
type speaker struct{ pace time.Duration }

// Words of a second at the pace of the demonstration: 50 while it talks, 200 while it counts.
const (
	talking  = 35
	counting = 140
)

// maxCount is how far the model counts.
const maxCount = 20_000

// counts matches a message that asks for a count.
var counts = regexp.MustCompile(`(?i)\bcount to (\d+)`)

// Stream implements model.Model.
func (s speaker) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		out := speech{ctx: ctx, yield: yield, fraction: talking, pace: s.pace}
		s.speak(&out, r)
		switch {
		case out.gone:
		case ctx.Err() != nil:
			yield(model.Chunk{}, context.Cause(ctx))
		default:
			stop := model.StopEnd
			if out.calls > 0 {
				stop = model.StopCalls
			}
			yield(model.Chunk{Usage: &message.Usage{Input: 12 * len(r.Messages), Output: out.words}, Stop: stop}, nil)
		}
	}
}

func (s speaker) speak(out *speech, r model.Request) {
	last := r.Messages[len(r.Messages)-1]
	asked := ""
	for _, m := range r.Messages {
		if m.Role == message.RoleUser {
			asked = strings.TrimSpace(m.Text())
		}
	}
	if last.Role == message.RoleTool {
		out.say(reportOn(asked, r.Messages))
		return
	}
	if found := counts.FindStringSubmatch(asked); found != nil {
		out.fraction = counting
		n, err := strconv.Atoi(found[1])
		for i := 1; err == nil && i <= min(n, maxCount); i++ {
			out.say(strconv.Itoa(i) + " ")
		}
		return
	}
	if strings.Contains(strings.ToLower(asked), "letter") {
		out.say("I have written the letter, and need your permission to send it.")
		out.call("send_letter", Letter{"team@example.org", "You asked: " + asked})
		return
	}
	out.think("The question is about " + strconv.Quote(asked) + ". Three sources may know it, so I ask all of them at once.")
	out.say("Let me look that up.")
	for _, source := range []string{"archive", "library", "press"} {
		out.call("look_up", subject{source, asked})
	}
}

// reportOn is the answer to a question after its tools have run.
func reportOn(asked string, all []message.Message) string {
	var b strings.Builder
	results := 0
	for i := len(all) - 1; i >= 0 && all[i].Role == message.RoleTool; i-- {
		results++
	}
	if results == 1 {
		return all[len(all)-1].Text() + " Is there **anything else**?"
	}
	fmt.Fprintf(&b, "Here is what I found about *%s*:\n\n| source | what it has |\n|---|---|\n", strings.NewReplacer("*", "", "|", " ", "\n", " ").Replace(asked))
	for _, m := range all[len(all)-results:] {
		fmt.Fprintf(&b, "| %d | %s |\n", results-len(all)+1+indexIn(all, m.ID), m.Text())
	}
	b.WriteString("\nYou can ask for it again on the command line:\n\n```sh\ncurl \"$WEFT/threads/search\" -X POST -d '{}'\n```\n")
	return b.String()
}

func indexIn(all []message.Message, id string) int {
	for i, m := range all {
		if m.ID == id {
			return i
		}
	}
	return -1
}

// speech is an answer under way.
type speech struct {
	ctx          context.Context
	yield        func(model.Chunk, error) bool
	pace         time.Duration
	fraction     time.Duration
	words, calls int
	gone         bool
}

// send yields a chunk, and takes as long as a word does.
func (s *speech) send(c model.Chunk) {
	if s.gone || s.ctx.Err() != nil {
		return
	}
	if !s.yield(c, nil) {
		s.gone = true
		return
	}
	s.words++
	_ = demo{s.pace / s.fraction}.wait(s.ctx) // Stream reports the end of the context
}

func (s *speech) say(text string) {
	for word := range strings.SplitAfterSeq(text, " ") {
		if word != "" {
			s.send(model.Chunk{Text: word})
		}
	}
}

func (s *speech) think(text string) {
	for word := range strings.SplitAfterSeq(text, " ") {
		s.send(model.Chunk{Reasoning: word})
	}
}

// call asks for a tool. The ids of calls are those of their places in the conversation.
func (s *speech) call(name string, arguments any) {
	data, err := json.Marshal(arguments)
	if err != nil {
		return
	}
	id := fmt.Sprintf("call-%s-%d", graph.ExecutionID(s.ctx), s.calls)
	s.send(model.Chunk{Call: &model.CallDelta{Index: s.calls, ID: id, Name: name}})
	for piece := range strings.SplitAfterSeq(string(data), ",") {
		s.send(model.Chunk{Call: &model.CallDelta{Index: s.calls, Arguments: piece}})
	}
	s.calls++
}
