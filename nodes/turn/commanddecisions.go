package turn

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/weftrun/weft/graph"
)

// addAnswers adds answers to the questions that a command refers to. A command for all questions
// skips those that need another kind of answer, and notes why.
func (d *commandPlan) addAnswers(c call, open []graph.Interrupt) error {
	targets, err := d.questions(c, open)
	if err != nil {
		return err
	}
	skipped := map[string]string{}
	for _, q := range targets {
		v, err := c.value(q)
		var wrong *CommandError
		switch {
		case errors.As(err, &wrong) && c.all() && len(targets) > 1:
			skipped[q.ID] = wrong.Why
		case err != nil:
			return err
		case d.answered[q.ID]:
			return c.wrong("%q is answered twice", q.Prompt)
		default:
			d.addAnswer(c, q, v)
		}
	}
	if len(skipped) == len(targets) {
		return c.wrong("no open question accepts it: %s", skipped[targets[0].ID])
	}
	d.skipped = skipped
	return nil
}

// addAnswer answers a question, or declines to answer if the command is /cancel.
func (d *commandPlan) addAnswer(c call, q graph.Interrupt, v any) {
	if d.answers == nil {
		d.answers, d.answered = new(graph.Answers), map[string]bool{}
	}
	d.answered[q.ID] = true
	if c.Do == DoCancel {
		*d.answers = d.answers.Decline(q.ID, cmp.Or(c.text, "cancelled"))
	} else {
		*d.answers = d.answers.Answer(q.ID, v)
	}
}

// reportSkipped adds a text for each question that a command for all has skipped.
func (d *commandPlan) reportSkipped(open []graph.Interrupt) {
	for i, q := range open {
		if why := d.skipped[q.ID]; why != "" && !d.answered[q.ID] {
			d.texts = append(d.texts, fmt.Sprintf("Question %d is left open: %s.", i+1, why))
		}
	}
}

func (c *call) all() bool { return c.option == "all" || c.Do == DoCancel }

func (c *call) wrong(format string, args ...any) error {
	return &CommandError{Name: c.word, Why: fmt.Sprintf(format, args...)}
}

// questions returns the questions that a command refers to, by their displayed number or their id.
// "all" refers to those without an answer.
func (d *commandPlan) questions(c call, open []graph.Interrupt) ([]graph.Interrupt, error) {
	n, err := strconv.Atoi(c.option)
	switch at := slices.IndexFunc(open, func(q graph.Interrupt) bool { return q.ID == c.option }); {
	case len(open) == 0:
		return nil, c.wrong("no question is open")
	case c.all():
		open = slices.DeleteFunc(slices.Clone(open), func(q graph.Interrupt) bool { return d.answered[q.ID] })
		if len(open) == 0 {
			return nil, c.wrong("all questions are already answered")
		}
		return open, nil
	case c.option == "" && len(open) == 1:
		return open, nil
	case c.option == "":
		return nil, c.wrong("%d questions are open; name one by its number, such as /%s:1, or all", len(open), c.Name)
	case at >= 0:
		return open[at : at+1], nil
	case err != nil || n < 1 || n > len(open):
		return nil, c.wrong("there is no question %q; %d are open", c.option, len(open))
	}
	return open[n-1 : n], nil
}

// value returns the answer that the command gives to q.
func (c *call) value(q graph.Interrupt) (any, error) {
	switch {
	case c.Do == DoCancel:
		return nil, nil
	case c.Do == DoEdit:
		return c.edit(q)
	case takesDecision(q) && c.Do == DoApprove:
		return graph.Decision{Type: graph.DecisionApprove}, nil
	case takesDecision(q):
		return graph.Decision{Type: graph.DecisionReject, Message: c.text}, nil
	case !takesYesNo(q):
		return nil, c.wrong("%q needs an answer other than yes or no", q.Prompt)
	case c.text != "":
		return nil, c.wrong("%q takes yes or no, without a text (got %q)", q.Prompt, c.text)
	}
	return c.Do == DoApprove, nil
}

// edit returns a decision with the JSON after the command, or an error if q does not accept it.
func (c *call) edit(q graph.Interrupt) (any, error) {
	if !takesEdit(q) {
		return nil, c.wrong("%q has nothing to edit", q.Prompt)
	}
	edited := json.RawMessage(c.text)
	var v any
	if err := json.Unmarshal(edited, &v); err != nil || v == nil {
		return nil, c.wrong("JSON must follow it, such as\n%s", shownEdit(q))
	}
	d := graph.Decision{Type: graph.DecisionEdit, Args: edited}
	data, err := json.Marshal(d)
	if err == nil {
		err = q.Accepts(data)
	}
	if err != nil {
		return nil, c.wrong("the question does not accept the JSON, and stays open: %s", refusalReason(err))
	}
	return d, nil
}
