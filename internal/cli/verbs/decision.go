package verbs

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/cli/reports"
	"github.com/weftrun/weft/internal/cli/terminal"
)

// decisionWords are the commands of inbox that decide a question.
var decisionWords = []string{"approve", "edit", "reject", "respond"}

// decision is how a user decides a question.
type decision struct {
	word    string
	thread  string // --thread, or ""
	args    string // --args: the edited request, as JSON
	message string // --message
}

func (v *decision) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&v.thread, "thread", "", "the THREAD, in place of the argument")
	cmd.Flags().StringVar(&v.args, "args", "", "with edit: JSON, what is approved instead")
	cmd.Flags().StringVar(&v.message, "message", "", "with reject: why not, and what would be better; with respond: the answer")
}

// unused returns an error if --args or --message is given to a command that decides nothing.
func (v *decision) unused(cmd *cobra.Command) error {
	for _, name := range []string{"args", "message"} {
		if cmd.Flags().Changed(name) {
			return reports.Usage(cmd.CommandPath()+" --help shows how", "--%s goes with edit, reject or respond", name)
		}
	}
	return nil
}

// check returns an error if the flags do not fit the decision.
func (v decision) check(cmd *cobra.Command) error {
	switch {
	case v.word == "edit" && !cmd.Flags().Changed("args"):
		return reports.Usage("give what is approved instead with --args JSON", "edit needs --args")
	case v.word == "edit":
		var args json.RawMessage
		if err := json.Unmarshal([]byte(v.args), &args); err != nil {
			return reports.Usage(`write JSON, such as --args '{"name": "value"}'; a text is JSON in double quotes: --args '"text"'`,
				"--args %q is not JSON: %w", terminal.Cut(reports.OneLine(v.args), 60), err)
		}
	case v.word != "edit" && cmd.Flags().Changed("args"):
		return reports.Usage("edit takes --args", "%s does not take --args", v.word)
	case !utf8.ValidString(v.message):
		return notText("--message")
	case v.word == "respond" && v.message == "":
		return reports.Usage("give the answer with --message TEXT", "respond needs --message")
	case v.word != "reject" && v.word != "respond" && cmd.Flags().Changed("message"):
		return reports.Usage("reject and respond take --message", "%s does not take --message", v.word)
	}
	return nil
}

// decide answers a question with a decision and resumes the run.
func (a *app) decide(cmd *cobra.Command, ids []string, v decision) error {
	if err := v.check(cmd); err != nil {
		return err
	}
	return withStore(cmd.Context(), a.openToRead, func(store checkpoint.Store) error {
		l, err := inbox{app: a, store: store}.one(cmd.Context(), v.thread, ids)
		if err != nil {
			return err
		}
		s := &session{app: a, store: store, thread: l.Thread}
		answer, ok := v.answer(l.Interrupt)
		if !ok {
			return a.cannot(l, v)
		}
		if err := l.Accepts(answer); err != nil {
			return err
		}
		f := resumeFlags{thread: l.Thread, replies: replies{answers: []string{l.ID + "=" + string(answer)}}}
		f.durability = "sync"
		return s.resume(cmd.Context(), f)
	})
}

// cannot returns an error that states why a question does not take a decision, and what it takes.
// A question may take the decision only without its message.
func (a *app) cannot(l letter, v decision) error {
	if _, ok := (decision{word: v.word}).answer(l.Interrupt); ok && v.message != "" {
		return reports.Usage(a.Command("inbox", v.word, l.ID)+" decides it without one; "+
			a.Command("resume", "--thread", l.Thread, "--decline", l.ID, "--reason", v.message)+" declines it, and its node gets the reason",
			"the question %q takes %s, and no message", l.Prompt, cmp.Or(choices(l.Interrupt), wanted(l.Schema)))
	}
	return reports.Usage(a.Command("inbox", "show", l.ID)+" shows the question and what answers it",
		"the question %q cannot be answered with %s: it takes %s", l.Prompt, v.word, cmp.Or(choices(l.Interrupt), wanted(l.Schema)))
}

// answer returns the decision as an answer to a question. ok is false if the question does not take
// it.
func (v decision) answer(in graph.Interrupt) (answer json.RawMessage, ok bool) {
	switch kind, _ := typeOf(in.Schema); {
	case in.Action != nil:
		return v.json(), slices.Contains(in.Action.Allow, graph.DecisionType(v.word))
	case in.IsQuestion() && kind == "boolean":
		return json.RawMessage(strconv.FormatBool(v.word == "approve")), (v.word == "approve" || v.word == "reject") && v.message == ""
	}
	return nil, false
}

// json returns the JSON form of the decision.
func (v decision) json() json.RawMessage {
	d := graph.Decision{Type: graph.DecisionType(v.word), Message: v.message}
	if v.word == "edit" {
		d.Args = json.RawMessage(v.args)
	}
	data, _ := json.Marshal(d) // cannot fail: check has parsed v.args
	return data
}

// choices returns the decisions that a question about an action takes. It returns "" for any other
// question, also for one that approve and reject answer with yes or no.
func choices(in graph.Interrupt) string {
	if in.Action == nil {
		return ""
	}
	words := make([]string, len(in.Action.Allow))
	for i, t := range in.Action.Allow {
		words[i] = string(t)
	}
	return strings.Join(words, ", ")
}
