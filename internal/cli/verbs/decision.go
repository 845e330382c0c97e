package verbs

import (
	"cmp"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/tidwall/gjson"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/cli/reports"
	"github.com/weftrun/weft/internal/cli/terminal"
)

// decisionWords are the commands of inbox that decide a question.
var decisionWords = []string{"approve", "edit", "reject"}

// decision is the decision of a user about a question.
type decision struct {
	word    string
	thread  string // --thread, or ""
	args    string // the edited request, as JSON
	message string
}

func (v *decision) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&v.thread, "thread", "", "the THREAD, in place of the argument")
	cmd.Flags().StringVar(&v.args, "args", "", "with edit: JSON, what is approved instead")
	cmd.Flags().StringVar(&v.message, "message", "", "with reject: why not, and what would be better")
}

// unused returns an error if a flag of a decision is given without a decision.
func (v *decision) unused(cmd *cobra.Command) error {
	for _, name := range []string{"args", "message"} {
		if cmd.Flags().Changed(name) {
			return reports.Usage(cmd.CommandPath()+" --help shows how", "--%s goes with approve, edit or reject", name)
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
		var any json.RawMessage
		if err := json.Unmarshal([]byte(v.args), &any); err != nil {
			return reports.Usage(`write JSON, such as --args '{"name": "value"}'; a text is JSON in double quotes: --args '"text"'`,
				"--args %q is not JSON: %w", terminal.Cut(reports.OneLine(v.args), 60), err)
		}
	case v.word != "edit" && cmd.Flags().Changed("args"):
		return reports.Usage("edit takes --args", "%s does not take --args", v.word)
	case v.word != "reject" && cmd.Flags().Changed("message"):
		return reports.Usage("reject takes --message", "%s does not take --message", v.word)
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
		if !ok && v.word == "edit" && editsDecision(l.Interrupt) {
			data, err := json.Marshal(forms[2].of(v))
			return errors.Join(err, l.Accepts(data))
		}
		if !ok {
			return a.cannot(l, v)
		}
		f := resumeFlags{thread: l.Thread, replies: replies{answers: []string{l.ID + "=" + string(answer)}}}
		f.durability = "sync"
		return s.resume(cmd.Context(), f)
	})
}

// cannot returns an error that states why a question does not take a decision, and what it takes.
func (a *app) cannot(l letter, v decision) error {
	if _, plain := (decision{word: v.word}).answer(l.Interrupt); plain && v.message != "" {
		return reports.Usage(a.Command("inbox", v.word, l.ID)+" decides it without one; "+
			a.Command("resume", "--thread", l.Thread, "--decline", l.ID, "--reason", v.message)+" declines it, and its node gets the reason",
			"the question %q takes %s, and no message", l.Prompt, cmp.Or(choices(l.Interrupt), wanted(l.Schema)))
	}
	return reports.Usage(a.Command("inbox", "show", l.ID)+" shows the question and what answers it",
		"the question %q cannot be answered with %s: it takes %s", l.Prompt, v.word, cmp.Or(choices(l.Interrupt), wanted(l.Schema)))
}

// answer returns the decision in the form that the question takes. ok is false if it takes none.
func (v decision) answer(in graph.Interrupt) (answer json.RawMessage, ok bool) {
	if in.Kind != "question" {
		return nil, false
	}
	if kind, _ := typeOf(in.Schema); kind == "boolean" {
		return json.RawMessage(strconv.FormatBool(v.word == "approve")), v.word != "edit" && v.message == ""
	}
	for _, f := range forms {
		data, err := json.Marshal(f.of(v))
		if err == nil && f.knows(in.Schema, v.word) && in.Accepts(data) == nil {
			return data, true
		}
	}
	return nil, false
}

// form names the members of an answer that is a decision.
type form struct{ word, args, message string }

// forms are those of an approval, of the permission of a tool, and of what an agent wants approved.
var forms = []form{{"type", "args", "message"}, {"action", "arguments", "feedback"}, {"decision", "edited", "feedback"}}

func (f form) of(v decision) map[string]any {
	answer := map[string]any{f.word: v.word}
	if v.word == "edit" {
		answer[f.args] = json.RawMessage(v.args)
	}
	if v.message != "" {
		answer[f.message] = v.message
	}
	return answer
}

// knows reports whether a schema names this decision. A schema of any object does not.
func (f form) knows(schema json.RawMessage, word string) bool {
	return strings.Contains(string(schema), strconv.Quote(f.word)) && strings.Contains(string(schema), word)
}

// editsDecision reports whether the schema of an agent's decision has a member for the edited
// request. That member may need a form of its own.
func editsDecision(in graph.Interrupt) bool {
	return gjson.GetBytes(in.Schema, "properties.edited").Exists()
}

// choices returns the decisions that a question takes. It returns "" for a question that takes no
// decision, or only yes or no.
func choices(in graph.Interrupt) string {
	var all []string
	for _, word := range decisionWords {
		answer, ok := decision{word: word, args: "{}"}.answer(in)
		if ok && len(answer) > 0 && answer[0] == '{' || word == "edit" && len(all) > 0 && editsDecision(in) {
			all = append(all, word)
		}
	}
	if len(all) == 0 || all[0] != "approve" {
		return ""
	}
	return strings.Join(all, ", ")
}
